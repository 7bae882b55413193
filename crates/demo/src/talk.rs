//! Believable conversations: what customers ask, what the agent looks up and answers, and how they part.

use serde_json::{Value, json};

use super::lessons::{Lesson, Profile};
use super::story::{Dice, Visit};

/// Something customers come with.
pub struct Topic {
    pub name: &'static str,
    pub questions: &'static [&'static str],
    pub tool: &'static str,
    pub answer: &'static str,
    /// The answer of another agent.
    pub shadow: &'static str,
}

pub const TOPICS: &[Topic] = &[
    Topic {
        name: "parcel",
        questions: &[
            "Where is my parcel for order {n}?",
            "Order {n} was due yesterday. When does it arrive?",
            "The tracking of order {n} has not moved since {day}. Is my parcel lost?",
        ],
        tool: "look_up_order",
        answer: "Your parcel for order {n} left the warehouse and arrives on {day}; the tracking is up to date again.",
        shadow: "Please check the tracking page.",
    },
    Topic {
        name: "return",
        questions: &[
            "I want to return the shoes from order {n}.",
            "How do I send order {n} back? It does not fit.",
            "Can I still return order {n} after three weeks?",
        ],
        tool: "create_return",
        answer: "I made a return label for order {n}: send it back within 30 days, the label is in your inbox.",
        shadow: "You can return order {n}: the label to send it back is on its way to your inbox.",
    },
    Topic {
        name: "refund",
        questions: &[
            "Where is the refund for order {n}?",
            "You promised a refund for {n} last week and my bank has nothing.",
            "When is the refund of order {n} on my card?",
        ],
        tool: "look_up_refund",
        answer: "The refund for order {n} was sent on {day} and is on your card within 5 working days.",
        shadow: "Refunds take a while.",
    },
    Topic {
        name: "address",
        questions: &[
            "Can I change the delivery address of order {n}?",
            "I moved. Please send order {n} to my new address.",
        ],
        tool: "update_address",
        answer: "The delivery address of order {n} is changed to the new address in your account.",
        shadow: "The delivery address of order {n} can be changed in your account.",
    },
    Topic {
        name: "invoice",
        questions: &[
            "Invoice {n} shows the wrong company name.",
            "I need invoice {n} with our VAT number on it.",
        ],
        tool: "reissue_invoice",
        answer: "Invoice {n} is issued again with the right company name and VAT number, and in your inbox.",
        shadow: "Invoices are issued by accounting.",
    },
    Topic {
        name: "voucher",
        questions: &[
            "My voucher code is refused at checkout.",
            "The voucher from your newsletter does not work for order {n}.",
        ],
        tool: "check_voucher",
        answer: "Your voucher code works from an order value of 40 on; I put it on order {n} for you at checkout.",
        shadow: "The voucher code works at checkout from an order value of 40 on.",
    },
    Topic {
        name: "account",
        questions: &["I cannot sign in to my account.", "How do I reset my password?"],
        tool: "",
        answer: "Choose “Forgot password” on the sign in page of your account; the link to reset it is valid for an hour.",
        shadow: "Choose “Forgot password” to reset the password of your account and sign in again.",
    },
    Topic {
        name: "subscription",
        questions: &[
            "I want to cancel my subscription.",
            "Why was my subscription {n} charged twice this month?",
        ],
        tool: "look_up_subscription",
        answer: "Your subscription {n} was charged once too often this month; the second charge is cancelled.",
        shadow: "I am not able to see that.",
    },
];

const DAYS: &[&str] = &["Tuesday", "Wednesday", "Thursday", "Friday"];
const HAPPY: &[&str] = &[
    "Thank you, that helps!",
    "Perfect, thank you very much.",
    "Great, that works. Thanks!",
    "Thanks, you were quick.",
];
const UNHAPPY: &[&str] = &[
    "That is wrong. This is useless.",
    "That does not help at all.",
    "No, that is not what I asked.",
    "This is useless, I give up.",
];

/// Standing orders that some customers leave at the end.
const ORDERS: &[&str] = &[
    "From now on, please always name the delivery day first.",
    "Please always name the delivery day first from now on.",
    "In future, please send invoices as PDF.",
    "From now on, please answer me in one sentence.",
];
const LEAVES_AN_ORDER: f64 = 0.03;

/// The turns of a visit, and its outcome.
pub struct Conversation {
    pub turns: Vec<Value>,
    pub went_well: bool,
}

/// The learnings that the agent was given at its answer.
#[derive(Default)]
pub struct Given {
    pub lesson: Option<Lesson>,
    pub profile: Option<Profile>,
}

impl Given {
    /// Creation times of the learnings given.
    pub fn made_at(&self) -> Vec<i64> {
        let lesson = self.lesson.iter().map(|lesson| lesson.made_at);
        lesson.chain(self.profile.iter().map(|profile| profile.made_at)).collect()
    }
}

pub fn topic_of(dice: &Dice) -> &'static Topic {
    &TOPICS[dice.below(TOPICS.len())]
}

/// The conversation of a visit about a topic, with what was retrieved for it.
pub fn converse(visit: &Visit, topic: &Topic, given: &Given, with_shadow: bool) -> Conversation {
    let dice = &visit.dice;
    let lift = given.lesson.as_ref().map_or(0.0, |lesson| lesson.effect);
    let went_well = dice.chance((visit.chance + lift).clamp(0.05, 0.98));
    let words = Words { order: 10_000 + dice.below(90_000), day: dice.one_of(DAYS) };
    let mut turns = vec![said("User", &words.fill(dice.one_of(topic.questions)), visit.starts_at)];
    let broken = !went_well && dice.chance(0.18);
    let mut answer = if went_well {
        words.fill(topic.answer)
    } else if broken {
        "The order system did not respond, so I could not finish this.".to_owned()
    } else {
        words.fill(dice.one_of(&[
            "I could not find anything about {n} in our records.",
            "You find everything about this on our help pages.",
            "I see an order {n}, but it belongs to another category.",
        ]))
    };
    // An agent that was told how to put it says that, others something friendly: answers are about as long in both arms.
    let friendly = "We are happy to help, and wish you a pleasant rest of the day.";
    let last = given.lesson.as_ref().map_or(friendly, |lesson| lesson.content);
    answer = format!("{answer} {last}");
    let mut reply = said("Assistant", &answer, visit.starts_at + 9);
    if !topic.tool.is_empty() {
        let status = if broken { "error" } else { "success" };
        let data = json!({"order": words.order, "customer": visit.user});
        reply["tools_used"] =
            json!([{"tool_name": topic.tool, "tool_data": data, "status": status}]);
    }
    if with_shadow {
        reply["shadow_content"] = json!(words.fill(topic.shadow));
    }
    retrieved(&mut reply, given);
    turns.push(reply);
    correct(&mut turns, visit, &words, went_well);
    part(&mut turns, visit, went_well);
    Conversation { turns, went_well }
}

/// Now and then the customer has to set the agent right; more often when it goes wrong.
fn correct(turns: &mut Vec<Value>, visit: &Visit, words: &Words, went_well: bool) {
    let mut at = visit.starts_at + 70;
    let mut left = 0.16;
    while visit.dice.chance(if went_well { left } else { left * 2.0 }) {
        let meant = format!("No, that is not right: I meant order {}, please.", words.order + 1);
        turns.push(said("User", &meant, at));
        let sorry = "Sorry, I looked at the wrong order. It is put right now.";
        turns.push(said("Assistant", sorry, at + 12));
        at += if visit.dice.chance(0.1) { 1500 } else { 80 };
        left *= 0.5;
    }
}

/// The last words, and sometimes a hand-over to a person.
fn part(turns: &mut Vec<Value>, visit: &Visit, went_well: bool) {
    let at = turns.last().and_then(|turn| turn["created_at"].as_i64()).unwrap_or(visit.starts_at);
    if !went_well && visit.dice.chance(0.22) {
        turns.push(said("User", "I want to talk to a person, please.", at + 20));
        let mut reply = said("Assistant", "I am connecting you to a colleague now.", at + 25);
        reply["tools_used"] =
            json!([{"tool_name": "transfer_to_human", "tool_data": {}, "status": "success"}]);
        turns.push(reply);
        return;
    }
    let last = visit.dice.one_of(if went_well { HAPPY } else { UNHAPPY });
    let mut words = last.to_owned();
    if went_well && visit.dice.chance(LEAVES_AN_ORDER) {
        words = format!("{last} {}", visit.dice.one_of(ORDERS));
    }
    turns.push(said("User", &words, at + 30));
}

fn retrieved(reply: &mut Value, given: &Given) {
    let (mut learnings, mut citations) = (Vec::new(), Vec::new());
    if let Some(lesson) = &given.lesson {
        let id = lesson.id.to_string();
        learnings.push(json!({"kind": "agent_playbook", "learning_id": id}));
        citations.push(json!({"kind": "agent_playbook", "real_id": id, "title": lesson.name}));
    }
    if let Some(profile) = &given.profile {
        learnings.push(json!({"kind": "profile", "learning_id": profile.id}));
    }
    reply["retrieved_learnings"] = json!(learnings);
    reply["citations"] = json!(citations);
}

struct Words {
    order: usize,
    day: &'static str,
}

impl Words {
    fn fill(&self, text: &str) -> String {
        text.replace("{n}", &self.order.to_string()).replace("{day}", self.day)
    }
}

fn said(role: &str, content: &str, at: i64) -> Value {
    json!({"role": role, "content": content, "created_at": at})
}
