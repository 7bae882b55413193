//! What the desk has learned: playbooks with where they came from, and what is known of its customers.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::desk::Desk;
use super::story::Dice;

/// An agent playbook as conversations use it.
#[derive(Clone)]
pub struct Lesson {
    pub id: i64,
    pub name: &'static str,
    pub topic: &'static str,
    pub content: &'static str,
    /// What it does to the chance of success.
    pub effect: f64,
    /// The first day it is handed out.
    pub from_day: i64,
}

/// name, topic, trigger, content, effect, first day, status
type Row = (&'static str, &'static str, &'static str, &'static str, f64, i64, &'static str);

const PLAYBOOKS: &[Row] = &[
    (
        "Say the day a parcel arrives",
        "parcel",
        "a customer asks where a parcel is",
        "Name the day the parcel arrives and where it is now.",
        0.11,
        0,
        "approved",
    ),
    (
        "Send the return label at once",
        "return",
        "a customer wants to return an order",
        "Send the return label at once and say how many days are left.",
        0.10,
        0,
        "approved",
    ),
    (
        "Say when a refund is on the card",
        "refund",
        "a customer waits for a refund",
        "Say on which day the refund was sent and when it is on the card.",
        0.12,
        0,
        "approved",
    ),
    (
        "Confirm the new address",
        "address",
        "a customer changes the delivery address",
        "Repeat the new delivery address and confirm the change.",
        0.08,
        0,
        "approved",
    ),
    (
        "Put the VAT number on the invoice",
        "invoice",
        "a customer needs another invoice",
        "Issue the invoice again with company name and VAT number.",
        0.09,
        0,
        "approved",
    ),
    (
        "Mention the voucher's minimum",
        "voucher",
        "a voucher code is refused",
        "Say the minimum order value of the voucher and put the code on the order.",
        0.07,
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

/// Teaches the desk its playbooks. Each came from user playbooks of a few customers.
pub async fn teach(desk: &Desk, seed: u64) -> Result<Vec<Lesson>> {
    let mut lessons = Vec::new();
    for (index, (name, topic, trigger, content, effect, from_day, status)) in (0..).zip(PLAYBOOKS) {
        let dice = Dice::new(seed ^ 0x7EAC, index);
        let mut sources = Vec::new();
        for _ in 0..3 + dice.below(5) {
            let user = format!("customer-{:04}", 1 + dice.below(300));
            let own = json!({"user_playbooks": [{
                "user_id": user, "playbook_name": name, "content": content, "trigger": trigger, "source": "web",
            }]});
            let added = desk.post("/api/add_user_playbook", &own).await?;
            sources.push(json!({"user_playbook_id": added["ids"][0]}));
        }
        let playbook = json!({"agent_playbooks": [{
            "playbook_name": name, "content": content, "trigger": trigger, "playbook_status": status,
            "rationale": format!("{} customers taught the same.", sources.len()), "tags": [topic], "source_windows": sources,
        }]});
        let added = desk.post("/api/add_agent_playbook", &playbook).await?;
        lessons.push(Lesson {
            id: added["ids"][0].as_i64().unwrap_or_default(),
            name,
            topic,
            content,
            effect: *effect,
            from_day: *from_day,
        });
    }
    // Pending and rejected ones are never handed out.
    let handed_out = PLAYBOOKS.iter().map(|row| row.6 == "approved");
    Ok(lessons.into_iter().zip(handed_out).filter_map(|(l, out)| out.then_some(l)).collect())
}

/// What is known of some customers: a profile id by user.
pub async fn get_to_know(desk: &Desk, seed: u64) -> Result<BTreeMap<String, String>> {
    let mut known = BTreeMap::new();
    let mut profiles: Vec<Value> = Vec::new();
    for n in 0..700_u64 {
        let dice = Dice::new(seed ^ 0xFAC7, n);
        let user = format!("customer-{:04}", n + 1);
        let lasts = dice.one_of(&["infinity", "one_year", "one_year"]);
        profiles.push(json!({"user_id": user, "content": dice.one_of(FACTS), "profile_time_to_live": lasts, "source": "web"}));
        known.insert(user, String::new());
    }
    let added = desk.post("/api/add_user_profile", &json!({"user_profiles": profiles})).await?;
    let ids = added["ids"].as_array().cloned().unwrap_or_default();
    for (place, id) in known.values_mut().zip(ids) {
        *place = id.as_str().unwrap_or_default().to_owned();
    }
    Ok(known)
}

/// The lesson that fits a topic on a day; a newer one, once it is there, is handed out half of the time.
pub fn fitting<'a>(
    lessons: &'a [Lesson],
    topic: &str,
    day: i64,
    dice: &Dice,
) -> Option<&'a Lesson> {
    let fits: Vec<&Lesson> =
        lessons.iter().filter(|lesson| lesson.topic == topic && lesson.from_day <= day).collect();
    if fits.is_empty() || dice.chance(0.25) {
        return None;
    }
    Some(fits[dice.below(fits.len())])
}
