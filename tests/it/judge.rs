//! The judge layer seen from outside: what leaves the process, and every way a call can go wrong.

mod discipline;
mod wire;
mod wrong_key;

use std::sync::Arc;

use base::clock::Clock;
use base::ids::Ids;
use judge::prompts::{self, Kind, Rubric};
use judge::{Grader, Judge, Limits, PriceTable, Turn};

use crate::support::NOW;

fn rubric(kind: Kind) -> &'static Rubric {
    prompts::newest(kind).unwrap()
}

fn grader(judge: Arc<dyn Judge>, limits: Limits) -> Grader {
    let clock = Clock::manual(NOW);
    let ids = Ids::seeded(clock.clone(), 1);
    Grader::new(judge, limits, PriceTable::load(None).unwrap(), 24_000, clock, ids)
}

fn talk(lines: &[(&str, &str)]) -> Vec<Turn> {
    (1..)
        .zip(lines)
        .map(|(id, (role, content))| Turn {
            id,
            role: (*role).to_owned(),
            content: (*content).to_owned(),
            ..Turn::default()
        })
        .collect()
}
