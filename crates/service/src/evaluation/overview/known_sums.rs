//! A cache of the sums of recent overviews.
//!
//! - All sums are valid for the same question while the state of the tables (`sql::current`) is the same: people look at
//!   the same minutes of a dashboard.
//! - The lines of rollups serve a question whose window has moved by less than an hour, until the next fold changes the
//!   mark of the lines; folds come every thirty seconds at most.
//!
//! It holds sums and ids of rules, nothing of a person: titles of rules are words of those who published them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::sql::{self, Asked, Counted, Current, FoldedLines};
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
/// Lifetime of the cached sums. After a failover to a standby that lacks the last changes, other changes may lead to a state
/// with the same number.
const SERVES: Duration = Duration::from_secs(60);

/// The cache, the most recently used entry last.
#[derive(Default)]
pub struct KnownSums(Mutex<VecDeque<Known>>);

struct Known {
    question: Question,
    used_at: Instant,
    lines: Arc<FoldedLines>,
    /// Absent for a version of the agent: the state does not cover `sessions.agent_version`, which decides whose
    /// comparisons count.
    last: Option<LastCount>,
}

/// The sums of the last answer to a question, with the key under which they are valid.
#[derive(Clone)]
struct LastCount {
    rows: Rows,
    state: i64,
    counted_at: Instant,
    counted: Arc<Counted>,
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

/// The ends of a question's window: ranges of rows where lines end.
#[derive(Clone, PartialEq)]
struct Rows([String; 5]);

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

impl Rows {
    fn of(asked: &Asked<'_>) -> Self {
        let ranges = [&asked.verdicts, &asked.shadows, &asked.turns, &asked.versions, &asked.rules];
        Rows(ranges.map(|ranges| ranges.rows.clone()))
    }
}

impl Known {
    fn bytes(&self) -> usize {
        self.lines.bytes() + self.last.as_ref().map_or(0, |last| last.counted.bytes())
    }
}

impl KnownSums {
    /// The cached lines and sums of a question.
    fn find(&self, question: &Question) -> (Option<Arc<FoldedLines>>, Option<LastCount>) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.iter().find(|known| known.question == *question) {
            Some(known) => (Some(known.lines.clone()), known.last.clone()),
            None => (None, None),
        }
    }

    fn keep(&self, question: Question, lines: Arc<FoldedLines>, last: Option<LastCount>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.used_at.elapsed() < UNUSED && known.question != question);
        all.push_back(Known { question, used_at: Instant::now(), lines, last });
        let bytes = |all: &VecDeque<Known>| all.iter().map(Known::bytes).sum::<usize>();
        while all.len() > MOST || MOST_BYTES < bytes(&all) {
            all.pop_front();
        }
    }
}

/// The sums of an overview: from the cache if it has them for the state that was read, or else from the database.
pub async fn count(
    app: &App,
    tx: &mut Tx,
    asked: &Asked<'_>,
    current: &Current,
) -> Result<Arc<Counted>> {
    let recent = app.state::<KnownSums>();
    let question = Question::of(asked);
    let rows = Rows::of(asked);
    let (lines, last) = recent.find(&question);
    let last = last.filter(|last| {
        current.state == last.state && last.rows == rows && last.counted_at.elapsed() < SERVES
    });
    let last = match last {
        Some(last) => last,
        None => LastCount {
            rows,
            state: current.state,
            counted_at: Instant::now(),
            counted: Arc::new(sql::count(tx, asked, lines.as_ref()).await?),
        },
    };
    let counted = last.counted.clone();
    let serves_again = asked.agent_version.is_none();
    recent.keep(question, counted.folded.clone(), serves_again.then_some(last));
    Ok(counted)
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
        let cache = KnownSums::default();
        for (rubric, bytes) in bytes.iter().enumerate() {
            let mut lines = FoldedLines::default();
            lines.rules = "r".repeat(*bytes).into();
            cache.keep(question(rubric), Arc::new(lines), None);
        }
        (0..bytes.len()).filter(|rubric| cache.find(&question(*rubric)).0.is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_lines_are_dropped_first() {
        assert_eq!(kept(&[1; MOST + 2]), Vec::from_iter(2..MOST + 2));
        let half = MOST_BYTES / 2;
        assert_eq!(kept(&[1, half, half]), [1, 2]);
        assert!(kept(&[MOST_BYTES + 1]).is_empty(), "lines that are too many alone are not kept");
    }
}
