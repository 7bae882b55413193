//! The age of the queue over the last day, as this process saw it: one number per ten minutes, lost at a restart.
//!
//! The queue is looked at from outside of it: a job that looked would wait with all others just when it matters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::app::App;

const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Length of one entry.
pub const STEP: i64 = 600;
/// Entries of a day.
const KEPT: usize = 144;

/// The longest wait of a due job that was seen in each step of time, of any organization.
#[derive(Default)]
pub struct QueueAges(Mutex<BTreeMap<i64, i64>>);

impl QueueAges {
    fn note(&self, now: i64, age: i64) {
        let mut ages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = ages.entry(now.div_euclid(STEP) * STEP).or_default();
        *longest = age.max(*longest);
        while ages.len() > KEPT {
            ages.pop_first();
        }
    }

    /// `(begin of the step, longest wait)` of the last day, the oldest first.
    pub fn of_last_day(&self, now: i64) -> Vec<(i64, i64)> {
        let ages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ages.range(now - 86_400..).map(|(at, age)| (*at, *age)).collect()
    }
}

/// Looks at the queue once.
pub async fn look(app: &App) {
    match storage::jobs::oldest_due_age(app).await {
        Ok(age) => app.state::<QueueAges>().note(app.clock.now(), age),
        Err(error) => tracing::warn!(%error, "the queue could not be looked at"),
    }
}

/// Looks every minute until the server stops. The first minute is for the work that became due while nobody worked.
pub fn watch(app: &Arc<App>) {
    let watched = app.clone();
    app.spawn(async move {
        loop {
            tokio::select! {
                () = watched.stopping.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            look(&watched).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_of_each_step_is_kept_for_a_day() {
        let ages = QueueAges::default();
        for (now, age) in [(1200, 3), (1260, 9), (1320, 0), (1800, 1)] {
            ages.note(now, age);
        }
        assert_eq!(ages.of_last_day(1800), [(1200, 9), (1800, 1)]);
        for n in 0..1000 {
            ages.note(2400 + n * STEP, n);
        }
        let now = 2400 + 999 * STEP;
        let kept = ages.of_last_day(now);
        assert_eq!((kept.len(), kept.last()), (KEPT, Some(&(now, 999))));
        assert_eq!(ages.of_last_day(now + 2 * 86_400), []);
    }
}
