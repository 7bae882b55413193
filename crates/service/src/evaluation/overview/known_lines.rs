//! A cache of the rollup lines that recent overviews read. An entry is valid until the next fold, which changes the mark
//! of the lines; folds come every thirty seconds at most.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::sql::{self, Asked, FoldedLines, Found};
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;

/// Entries of the cache: about 1 MB each for 90 days of five sources.
const MOST: usize = 16;
/// Size of all entries together: an organization may have a rule for each of its users.
const MOST_BYTES: usize = 32 << 20;
/// Entries that are unused this long are dropped when another one comes.
const UNUSED: Duration = Duration::from_secs(300);

/// The cache, the most recently used entry last.
#[derive(Default)]
pub struct KnownLines(Mutex<VecDeque<Known>>);

struct Known {
    question: Question,
    used_at: Instant,
    lines: Arc<FoldedLines>,
}

/// The key of an entry: organization, filters and time ranges of an overview.
#[derive(PartialEq)]
struct Question {
    org_id: OrgId,
    agent_version: Option<String>,
    judge_prompt_version: String,
    rule_sources: Vec<String>,
    /// Ranges of verdicts, shadow comparisons by session and by turn, versions and rules.
    ranges: [String; 5],
}

impl Question {
    fn of(asked: &Asked<'_>) -> Self {
        let ranges = [&asked.verdicts, &asked.shadows, &asked.turns, &asked.versions, &asked.rules];
        Question {
            org_id: asked.org_id.clone(),
            agent_version: asked.agent_version.map(str::to_owned),
            judge_prompt_version: asked.judge_prompt_version.to_owned(),
            rule_sources: asked.rule_sources.to_vec(),
            ranges: ranges.map(|ranges| ranges.lines.clone()),
        }
    }
}

impl KnownLines {
    /// The lines that the last answer to a question had.
    fn find(&self, question: &Question) -> Option<Arc<FoldedLines>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|known| known.question == *question).map(|known| known.lines.clone())
    }

    fn keep(&self, question: Question, lines: Arc<FoldedLines>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.used_at.elapsed() < UNUSED && known.question != question);
        all.push_back(Known { question, used_at: Instant::now(), lines });
        let bytes =
            |all: &VecDeque<Known>| all.iter().map(|known| known.lines.bytes()).sum::<usize>();
        while all.len() > MOST || MOST_BYTES < bytes(&all) {
            all.pop_front();
        }
    }
}

/// Reads what is asked for, of the lines of sums only those that are not known.
pub async fn read(app: &App, tx: &mut Tx, asked: &Asked<'_>) -> Result<Found> {
    let recent = app.state::<KnownLines>();
    let question = Question::of(asked);
    let known = recent.find(&question);
    let found = sql::read(tx, asked, known.as_ref()).await?;
    recent.keep(question, found.folded.clone());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(rubric: usize) -> Question {
        Question {
            org_id: "default".into(),
            agent_version: None,
            judge_prompt_version: rubric.to_string(),
            rule_sources: Vec::new(),
            ranges: Default::default(),
        }
    }

    /// The rubrics of the questions that are in the cache after each was asked once, with rules of so many bytes.
    fn kept(bytes: &[usize]) -> Vec<usize> {
        let cache = KnownLines::default();
        for (rubric, bytes) in bytes.iter().enumerate() {
            let mut lines = FoldedLines::default();
            lines.rules = "r".repeat(*bytes).into();
            cache.keep(question(rubric), Arc::new(lines));
        }
        (0..bytes.len()).filter(|rubric| cache.find(&question(*rubric)).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_lines_are_dropped_first() {
        assert_eq!(kept(&[1; MOST + 2]), Vec::from_iter(2..MOST + 2));
        let half = MOST_BYTES / 2;
        assert_eq!(kept(&[1, half, half]), [1, 2]);
        assert!(kept(&[MOST_BYTES + 1]).is_empty(), "lines that are too many alone are not kept");
    }
}
