//! How much is learned from sessions, and what: prints a rate and every learning, to be read. Asserts nothing.
#![allow(clippy::print_stdout, clippy::print_stderr)] // the listing is the point
#![allow(clippy::cast_precision_loss)] // counts of sessions

use std::collections::BTreeMap;
use std::path::Path;

use base::clock::Clock;
use base::ids::Ids;
use judge::prompts::{self, Kind};
use judge::{Context, Grader, Keys, Window};
use service::config::Settings;

mod session_file;

const HELP: &str = "\
bench_learning_quality FILE_OR_FOLDER...

Extracts learnings from every session by itself, as the service does, and prints how many there are per 100 sessions,
then each with the turn it was learned from, to be read one by one. Without a key the rules extract. With the key of a
provider in the environment (OPENAI_API_KEY and so on; EVENHAND_JUDGE__MODEL names the model) its model does, at its
price.

";

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() || words.iter().any(|word| word == "--help" || word == "-h") {
        return Err(format!("{HELP}{}", session_file::FORM));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| e.to_string())?;
    let settings = Settings::load(None, &[]).map_err(|problems| problems.join("\n"))?;
    let clock = Clock::System;
    let ids = Ids::system(clock.clone());
    judge::llm::install_tls();
    let grader = Grader::from_settings(&settings.judge, &Keys::from_environment(), clock, ids)
        .map_err(|e| e.to_string())?;
    println!("extracted by {}", grader.label());
    for word in words {
        for file in session_file::files(Path::new(&word))? {
            runtime.block_on(measure(&grader, &file))?;
        }
    }
    Ok(())
}

async fn measure(grader: &Grader, file: &Path) -> Result<(), String> {
    let rubric = prompts::newest(Kind::LearningExtraction).ok_or("no rubric")?;
    let sessions = session_file::load(file)?;
    let (mut learned, mut refused) = (Vec::new(), BTreeMap::<&str, usize>::new());
    let mut teaching = 0;
    for (number, session) in sessions.iter().enumerate() {
        if !grader.is_offline() {
            eprint!("\r{number} of {}", sessions.len());
        }
        let turns = session.turns.clone();
        let window = Window { sessions: vec![turns.len()], turns, experts: Vec::new() };
        let found = grader.extraction(rubric, &Context::default(), &window).await;
        let found = found.map_err(|e| format!("{}: {e}", session.name))?.verdict;
        let before = learned.len();
        for proposal in found {
            match proposal.refused {
                Some(why) => *refused.entry(why).or_default() += 1,
                None => learned.push((session, proposal)),
            }
        }
        teaching += usize::from(learned.len() > before);
    }
    let percent = |part: usize| 100.0 * part as f64 / sessions.len().max(1) as f64;
    println!(
        "\n{}: {} sessions, {} learnings ({:.1} per 100), {} sessions teach ({:.1} %)",
        file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        sessions.len(),
        learned.len(),
        percent(learned.len()),
        teaching,
        percent(teaching),
    );
    for (why, count) in refused {
        println!("  refused {count}: {why}");
    }
    for (session, proposal) in learned {
        let outcome = match session.is_success {
            Some(true) => "success",
            Some(false) => "failure",
            None => "outcome unknown",
        };
        let of = format!("{} {}, task {}, {outcome}", session.name, session.agent, session.task);
        println!("\n{of}\n  [{}] {}", proposal.kind, proposal.content);
        if !proposal.trigger.is_empty() {
            println!("    when: {}", proposal.trigger);
        }
        let said = session.turns.iter().filter(|turn| proposal.evidence.contains(&turn.id));
        for turn in said {
            println!("    {}: {}", turn.role, turn.content.replace('\n', " "));
        }
    }
    Ok(())
}
