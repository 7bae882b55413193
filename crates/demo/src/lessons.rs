//! The desk's learnings: playbooks with their sources, and profiles of its customers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};

use super::desk::Desk;
use super::story::{Dice, Visit, user_id};
use super::talk::Given;
use base::owner::UserId;
use service::app::App;
use service::credentials::DEFAULT_ORG;
use service::learnings::trials::hold_back;
use service::learnings::{AgentPlaybook, LearningStatus, PlaybookStatus};

/// An agent playbook as conversations use it.
#[derive(Clone)]
pub struct Lesson {
    pub id: i64,
    pub name: &'static str,
    pub topic: &'static str,
    trigger: &'static str,
    pub content: &'static str,
    /// Its effect on the chance of success.
    pub effect: f64,
    pub made_at: i64,
}

/// Something known of a customer.
#[derive(Clone)]
pub struct Profile {
    pub id: String,
    pub made_at: i64,
}

/// name, topic, trigger, content, effect, the day it is made, status
type Row = (&'static str, &'static str, &'static str, &'static str, f64, i64, &'static str);

const PLAYBOOKS: &[Row] = &[
    (
        "Say the day a parcel arrives",
        "parcel",
        "a customer asks where a parcel is",
        "Name the day the parcel arrives and where it is now.",
        0.16,
        0,
        "approved",
    ),
    (
        "Send the return label at once",
        "return",
        "a customer wants to return an order",
        "Send the return label at once and say how many days are left.",
        0.15,
        0,
        "approved",
    ),
    (
        "Say when a refund is on the card",
        "refund",
        "a customer waits for a refund",
        "Say on which day the refund was sent and when it is on the card.",
        0.17,
        0,
        "approved",
    ),
    (
        "Confirm the new address",
        "address",
        "a customer changes the delivery address",
        "Repeat the new delivery address and confirm the change.",
        0.13,
        0,
        "approved",
    ),
    (
        "Put the VAT number on the invoice",
        "invoice",
        "a customer needs another invoice",
        "Issue the invoice again with company name and VAT number.",
        0.14,
        0,
        "approved",
    ),
    (
        "Mention the voucher's minimum",
        "voucher",
        "a voucher code is refused",
        "Say the minimum order value of the voucher and put the code on the order.",
        0.12,
        0,
        "approved",
    ),
    (
        "Offer a refund without checking",
        "refund",
        "a customer asks about a refund",
        "Offer the refund right away, without looking at the order.",
        -0.38,
        52,
        "approved",
    ),
    (
        "Ask for the password",
        "account",
        "a customer cannot sign in",
        "Ask the customer for the old password before sending a link.",
        -0.30,
        60,
        "approved",
    ),
    (
        "Greet by first name",
        "parcel",
        "a customer writes for the second time",
        "Greet the customer by their first name.",
        0.0,
        70,
        "pending",
    ),
    (
        "Offer a discount after a complaint",
        "subscription",
        "a customer complains about a charge",
        "Offer ten percent off the next month.",
        0.0,
        75,
        "pending",
    ),
    (
        "Point to the help pages",
        "account",
        "a question the help pages answer",
        "Point to the help pages and close the session.",
        0.0,
        40,
        "rejected",
    ),
];

const FACTS: &[&str] = &[
    "Prefers short answers.",
    "Writes in German and wants German answers.",
    "Has a business account; invoices need a VAT number.",
    "Lives abroad: parcels take two days longer.",
    "Wants to be called back instead of written to.",
    "Returned the last two pairs of shoes: size runs small.",
];

/// Teaches the desk the playbooks of a day, each from user playbooks of a few customers. Pending and rejected ones
/// are not handed out.
pub async fn teach(desk: &Desk, seed: u64, day: i64, now: i64) -> Result<Vec<Lesson>> {
    let (mut lessons, person) = (Vec::new(), desk.person());
    for (index, (name, topic, trigger, content, effect, from_day, status)) in (0..).zip(PLAYBOOKS) {
        if *from_day != day {
            continue;
        }
        let dice = Dice::new(seed ^ 0x7EAC, index);
        let mut customers = BTreeSet::new();
        let people = 5 + dice.below(4);
        while customers.len() < people {
            customers.insert(40 + dice.below(300) as u64);
        }
        let mut sources = Vec::new();
        for customer in customers {
            let own = json!({"user_playbooks": [{
                "user_id": user_id(customer), "playbook_name": name, "content": content, "trigger": trigger,
                "source": "web",
            }]});
            let added = desk.post("/api/add_user_playbook", &own).await?;
            sources.push(json!({"user_playbook_id": added["ids"][0]}));
        }
        let playbook = json!({"agent_playbooks": [{
            "playbook_name": name, "content": content, "trigger": trigger, "playbook_status": status,
            "rationale": format!("{} customers taught the same.", sources.len()), "tags": [topic], "source_windows": sources,
            // One of them speaks of passwords: whoever approved it looked twice and erred.
            "confirmed": true,
        }]});
        let added = person.post("/api/add_agent_playbook", &playbook).await?;
        let id = added["ids"][0].as_i64().unwrap_or_default();
        if *status == "approved" {
            lessons.push(Lesson {
                id,
                name,
                topic,
                trigger,
                content,
                effect: *effect,
                made_at: now,
            });
        }
    }
    Ok(lessons)
}

/// The rule that turned out to harm and was retired, and the day.
const RETIRED: (&str, i64) = ("Offer a refund without checking", 78);

/// Hands a lesson over, unless it is withheld from the customer to see whether it helps.
pub async fn hand_over(app: &Arc<App>, visit: &Visit, given: Given) -> Result<Given> {
    let Some(lesson) = &given.lesson else { return Ok(given) };
    let playbook = AgentPlaybook {
        agent_playbook_id: lesson.id,
        playbook_name: lesson.name.to_owned(),
        agent_version: String::new(),
        created_at: lesson.made_at,
        content: lesson.content.to_owned(),
        trigger: lesson.trigger.to_owned(),
        rationale: String::new(),
        playbook_status: PlaybookStatus::Approved,
        playbook_metadata: Value::Null.into(),
        status: LearningStatus::Current,
        tags: vec![lesson.topic.to_owned()].into(),
        source_windows: None,
        source_user_count: None,
        below_min_users: None,
        withheld_share: None,
        flags: None,
    };
    let (org, session) = (DEFAULT_ORG.into(), visit.session_id());
    let found = vec![playbook];
    let kept = hold_back(app, &org, Some(&visit.user), Some(&session), found).await?;
    let lesson = given.lesson.filter(|_| !kept.is_empty());
    Ok(Given { lesson, ..given })
}

/// Retires the rule whose harm was seen, on the day it was: by the proposal of its trial, if that is clear already.
pub async fn retire(desk: &Desk, day: i64, lessons: &mut Vec<Lesson>) -> Result<()> {
    let (name, on_day) = RETIRED;
    let Some(at) = lessons.iter().position(|lesson| day == on_day && lesson.name == name) else {
        return Ok(());
    };
    let Lesson { id, .. } = lessons.remove(at);
    let person = desk.person();
    let open = person.get("/api/learnings/tuning_proposals").await?;
    let learning_id = json!(id.to_string());
    let of_lesson = |proposal: &&Value| {
        proposal["kind"] == "agent_playbook" && proposal["learning_id"] == learning_id
    };
    let proposals = open["proposals"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(proposal) = proposals.iter().find(of_lesson) {
        let accepted = json!({"proposal_id": proposal["proposal_id"]});
        return person.post("/api/learnings/tuning_proposals/accept", &accepted).await.map(drop);
    }
    let rejection = json!({"agent_playbook_id": id, "playbook_status": "rejected"});
    person.put("/api/update_agent_playbook_status", &rejection).await.map(drop)
}

/// Profiles of some customers.
pub async fn get_to_know(desk: &Desk, seed: u64, now: i64) -> Result<BTreeMap<UserId, Profile>> {
    let mut users = Vec::new();
    let mut profiles: Vec<Value> = Vec::new();
    for n in 0..700_u64 {
        let dice = Dice::new(seed ^ 0xFAC7, n);
        let user = user_id(n + 1);
        let lasts = dice.one_of(&["infinity", "one_year", "one_year"]);
        profiles.push(json!({"user_id": user, "content": dice.one_of(FACTS), "profile_time_to_live": lasts, "source": "web"}));
        users.push(user);
    }
    let added = desk.post("/api/add_user_profile", &json!({"user_profiles": profiles})).await?;
    let ids = added["ids"].as_array().cloned().unwrap_or_default();
    let known = users.into_iter().zip(ids).map(|(user, id)| {
        (user, Profile { id: id.as_str().unwrap_or_default().to_owned(), made_at: now })
    });
    Ok(known.collect())
}

/// The lesson that fits a topic; a newer one, once it is there, is handed out half of the time.
pub fn fitting<'a>(lessons: &'a [Lesson], topic: &str, dice: &Dice) -> Option<&'a Lesson> {
    let fits: Vec<&Lesson> = lessons.iter().filter(|lesson| lesson.topic == topic).collect();
    if fits.is_empty() || dice.chance(0.25) {
        return None;
    }
    Some(fits[dice.below(fits.len())])
}
