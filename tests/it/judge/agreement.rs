//! The offline judge against the labels of those who wrote its rules. The set has sessions that rules cannot get
//! right, on purpose, and a part that was held out: its figure is the one to believe.
#![allow(clippy::print_stdout)] // the figures are the point

use judge::Context;
use judge::prompts::Kind;
use judge::verdicts::SessionVerdict;
use serde_json::Value;

use super::{offline, rubric, turns};

/// For sessions written after the rules were done; set before they were first judged, and the rules were not
/// changed for them. Whoever changes the rules with an eye on them has to write new ones.
const HELD_OUT_FLOOR: f64 = 0.2;

/// Two raters, one yes-or-no question: (both yes, first only, second only, both no).
fn kappa(counts: [f64; 4]) -> (f64, f64) {
    let n: f64 = counts.iter().sum();
    let [yes, first, second, no] = counts.map(|count| count / n);
    let agreement = yes + no;
    let chance = (yes + first) * (yes + second) + (first + no) * (second + no);
    (agreement, (agreement - chance) / (1.0 - chance))
}

/// Verdicts of the judge on labelled sessions, counted.
#[derive(Default)]
struct Tally {
    success: [f64; 4],
    escalated: [f64; 4],
    sessions: usize,
    corrections: usize,
    failures: usize,
    kinds: usize,
}

impl Tally {
    fn add(&mut self, label: &Value, verdict: &SessionVerdict) {
        let cell = |person: bool, judge: bool| match (person, judge) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        let (success, escalated) = (label["is_success"] == true, label["is_escalated"] == true);
        let corrections = label["number_of_corrections"] == verdict.number_of_corrections;
        self.sessions += 1;
        self.success[cell(success, verdict.is_success)] += 1.0;
        self.escalated[cell(escalated, verdict.is_escalated)] += 1.0;
        self.corrections += usize::from(corrections);
        if !success && !verdict.is_success {
            self.failures += 1;
            self.kinds += usize::from(label["failure_type"] == verdict.failure_type.as_str());
        }
        let same = success == verdict.is_success && escalated == verdict.is_escalated;
        if !same || !corrections {
            println!("differs: {} {verdict:?}", label["id"]);
        }
    }

    fn report(&self, name: &str) -> (f64, f64) {
        let (agreement, success_kappa) = kappa(self.success);
        let (_, escalated_kappa) = kappa(self.escalated);
        let Tally { success, sessions, corrections, failures, kinds, .. } = self;
        println!(
            "{name}: {sessions} sessions, [both yes, person only, judge only, both no] {success:?}"
        );
        println!("  success: agreement {agreement:.3}, Cohen's kappa {success_kappa:.3}");
        println!("  escalation: Cohen's kappa {escalated_kappa:.3}");
        println!("  corrections exact {corrections}/{sessions}, failure types {kinds}/{failures}");
        (success_kappa, escalated_kappa)
    }
}

#[tokio::test]
async fn the_offline_judge_agrees_with_the_labels() {
    let text = include_str!("../../data/labelled_sessions.json");
    let sessions: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(sessions.len() >= 60);
    let successes = sessions.iter().filter(|s| s["is_success"] == true).count();
    assert!((0.4..=0.6).contains(&(successes as f64 / sessions.len() as f64)), "balanced");
    let grader = offline();
    let (mut known, mut held_out) = (Tally::default(), Tally::default());
    for session in &sessions {
        let turns = turns(&session["interactions"]);
        let rubric = rubric(Kind::SessionSuccess);
        let graded = grader.session(rubric, &Context::default(), &turns).await.unwrap();
        let tally = if session["held_out"] == true { &mut held_out } else { &mut known };
        tally.add(session, &graded.verdict);
    }
    let (success, escalated) = known.report("written with the rules");
    assert!(success >= 0.75, "kappa {success:.3}");
    assert!(escalated >= 0.8, "escalation kappa {escalated:.3}");
    assert!(known.corrections * 10 >= known.sessions * 9, "corrections");
    assert!(known.kinds * 10 >= known.failures * 8, "failure types");
    let (success, _) = held_out.report("held out");
    assert!(success >= HELD_OUT_FLOOR, "held out kappa {success:.3}");
}

#[test]
fn kappa_of_a_known_table() {
    // The textbook example: 20, 5, 10, 15 give 0.7 and 0.4.
    let (agreement, kappa) = kappa([20.0, 5.0, 10.0, 15.0]);
    assert!((agreement - 0.7).abs() < 1e-12 && (kappa - 0.4).abs() < 1e-12);
}
