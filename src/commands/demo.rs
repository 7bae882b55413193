//! `evenhand demo`: a small support desk's week, published through the real code paths, and served.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{Installation, serve};
use crate::app::{App, Schema};
use crate::clock::Clock;
use crate::credentials::DEFAULT_ORG;
use crate::http::fields;
use crate::ids::Ids;
use crate::{row, run, sessions, telemetry};

#[derive(Args)]
pub struct Demo {
    /// The folder for the demo's database; made if it is not there, reused if it is
    #[arg(long, value_name = "DIR", default_value = "demo-data")]
    data_dir: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8700")]
    listen: String,
    /// How many sessions to make
    #[arg(long, default_value_t = 400)]
    sessions: u64,
    /// The same seed makes the same data
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Make the data and exit
    #[arg(long)]
    no_serve: bool,
}

impl Demo {
    pub async fn run(self) -> Result<ExitCode> {
        let installation =
            Installation { data_dir: Some(self.data_dir.clone()), ..Installation::default() };
        let settings = installation.settings(&[("server.listen", self.listen.clone())])?;
        telemetry::init_logs(&settings);
        let clock = Clock::System;
        let app = App::open(settings, clock.clone(), Ids::system(clock), Schema::Migrate).await?;
        if is_filled(&app).await? {
            println!("using the demo data in {}", self.data_dir.display());
        } else {
            fill(&app, self.sessions, self.seed).await?;
        }
        if self.no_serve {
            app.stop().await;
            return Ok(ExitCode::SUCCESS);
        }
        serve::serve(app, true).await
    }
}

async fn is_filled(app: &App) -> Result<bool> {
    let found = app
        .db
        .read("demo.is_filled", (), |tx, ()| {
            Box::pin(async move {
                row!(tx, (String,), "SELECT value FROM installation WHERE key = 'demo_filled'")
            })
        })
        .await?;
    Ok(found.is_some())
}

/// Publishes the sessions one after the other; the mark at the end makes it happen once. An interrupted run
/// goes on where it stopped: every publish carries its own request id.
async fn fill(app: &Arc<App>, count: u64, seed: u64) -> Result<()> {
    let bar = ProgressBar::new(count).with_style(ProgressStyle::with_template(
        "making demo sessions {bar:40} {pos}/{len} ({eta} left)",
    )?);
    let week = 7 * 86_400;
    let now = app.clock.now();
    // Rounded, so that a run that is repeated on the same day makes the same requests.
    let end = now - now % 86_400;
    let dice = Ids::seeded(Clock::manual(end), seed);
    for n in 0..count {
        let place = i64::try_from(n * u64::try_from(week).unwrap_or(1) / count.max(1)).unwrap_or(0);
        for body in session(n, end - week + place, &dice) {
            let outcome = fields::read_body(&body)
                .map_err(|problems| anyhow::anyhow!("the demo made a bad request: {problems:?}"))?;
            sessions::publish(app, DEFAULT_ORG, outcome.value, Vec::new()).await?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    app.db
        .write("demo.mark", seed, |tx, seed| {
            Box::pin(async move {
                let sql = "INSERT INTO installation (key, value) VALUES ('demo_filled', $1)
                           ON CONFLICT DO NOTHING";
                run!(tx, sql, seed.to_string())
            })
        })
        .await?;
    println!("made {count} demo sessions");
    Ok(())
}

const TOPICS: &[(&str, &str, &str)] = &[
    (
        "Where is my order {n}?",
        "look_up_order",
        "Order {n} left the warehouse this morning and arrives on {day}.",
    ),
    (
        "I want to return the shoes from order {n}.",
        "create_return",
        "I made a return label for order {n}; it is in your inbox.",
    ),
    (
        "Can I change the delivery address of {n}?",
        "update_address",
        "The address of order {n} is changed.",
    ),
    (
        "My invoice {n} shows the wrong company name.",
        "reissue_invoice",
        "Invoice {n} is issued again with the right name.",
    ),
    (
        "How do I reset my password?",
        "",
        "Choose “Forgot password” on the sign-in page; the link is valid for an hour.",
    ),
];
const DAYS: &[&str] = &["Tuesday", "Wednesday", "Thursday", "Friday"];
const SOURCES: &[&str] = &["web", "app", "email", "phone"];
const VERSIONS: &[&str] = &["support-1.0", "support-1.1", "support-2.0"];

/// One session as one to three publishes: a question, perhaps a correction, an end.
fn session(n: u64, started: i64, dice: &Ids) -> Vec<Value> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small and positive
    let pick = |bound: usize| (dice.fraction() * bound as f64) as usize;
    let (question, tool, answer) = TOPICS[pick(TOPICS.len())];
    let order = 10_000 + pick(90_000);
    let day = DAYS[pick(DAYS.len())];
    let fill = |text: &str| text.replace("{n}", &order.to_string()).replace("{day}", day);
    let tools = if tool.is_empty() {
        json!([])
    } else {
        let failed = pick(12) == 0;
        let status = if failed { "error" } else { "success" };
        json!([{"tool_name": tool, "tool_data": {"order": order}, "status": status}])
    };
    let mut turns = vec![vec![
        json!({"role": "User", "content": fill(question), "created_at": started}),
        json!({"role": "Assistant", "content": fill(answer), "tools_used": tools, "created_at": started + 8}),
    ]];
    if pick(5) == 0 {
        turns.push(vec![
            json!({"role": "User", "content": format!("No, that is not right: I meant order {}.", order + 1), "created_at": started + 60}),
            json!({"role": "Assistant", "content": "Sorry, I looked at the wrong one. It is put right now.", "created_at": started + 70}),
        ]);
    }
    let goodbye = match pick(8) {
        0 => "This does not help. I want to talk to a person.",
        _ => "Thank you, that helps!",
    };
    turns.push(vec![json!({"role": "User", "content": goodbye, "created_at": started + 120})]);

    let (user, source) = (pick(60), SOURCES[pick(SOURCES.len())]);
    let version = VERSIONS[usize::try_from(n).unwrap_or(0) * VERSIONS.len() / 400 % VERSIONS.len()];
    let last = turns.len() - 1;
    let publish = |(index, turns): (usize, Vec<Value>)| {
        json!({
            "request_id": format!("demo-{n}-{index}"),
            "user_id": format!("customer-{user:03}"),
            "session_id": format!("chat-{n:05}"),
            "source": source,
            "agent_version": version,
            "created_at": started + 60 * i64::try_from(index).unwrap_or(0),
            "session_finished": index == last,
            "interaction_data_list": turns,
        })
    };
    turns.into_iter().enumerate().map(publish).collect()
}
