//! The rules against the labels of those who wrote them. The set has sessions that rules cannot decide, on purpose,
//! and a part that was held out.
#![allow(clippy::print_stdout)] // the figures are the point

use judge::Outcome;
use serde_json::Value;

use super::{rules, turns, verdict};

/// Verdicts of the rules on labelled sessions.
#[derive(Default)]
struct Tally {
    sessions: usize,
    escalations: usize,
    corrections: usize,
    /// (said so, and right)
    successes: (usize, usize),
    failures: (usize, usize),
    kinds: usize,
}

#[tokio::test]
async fn what_the_rules_decide_agrees_with_the_labels() {
    let text = include_str!("../../../../tests/data/labelled_sessions.json");
    let sessions: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(sessions.len() >= 60);
    let grader = rules();
    let (mut known, mut held_out) = (Tally::default(), Tally::default());
    for session in &sessions {
        let verdict = verdict(&grader, &turns(&session["interactions"])).await;
        let tally = if session["held_out"] == true { &mut held_out } else { &mut known };
        let success = session["is_success"] == true;
        tally.sessions += 1;
        tally.escalations += usize::from(verdict.is_escalated == (session["is_escalated"] == true));
        tally.corrections +=
            usize::from(session["number_of_corrections"] == verdict.number_of_corrections);
        match verdict.outcome {
            Outcome::Success => {
                tally.successes.0 += 1;
                tally.successes.1 += usize::from(success);
            }
            Outcome::Failure => {
                tally.failures.0 += 1;
                tally.failures.1 += usize::from(!success);
                let kind = session["failure_type"] == verdict.failure_type.as_str();
                tally.kinds += usize::from(!success && kind);
            }
            Outcome::Undecided => {}
        }
        if verdict.is_success().is_some_and(|said| said != success) {
            println!("differs: {} {verdict:?}", session["id"]);
        }
    }
    for (name, tally) in [("written with the rules", &known), ("held out", &held_out)] {
        let Tally { sessions, successes, failures, kinds, escalations, corrections } = tally;
        println!(
            "{name}: {sessions} sessions; (said, right) successes {successes:?}, failures {failures:?}, \
             their types {kinds}; escalation {escalations}, corrections {corrections}"
        );
        assert!(successes.1 == successes.0, "a success without evidence");
        assert!(failures.1 * 100 >= failures.0 * 85, "failures are 85 % right");
        assert!(escalations * 10 >= sessions * 9 && corrections * 10 >= sessions * 8);
    }
    assert!(known.failures.0 * 3 >= known.sessions, "most failures are seen");
}
