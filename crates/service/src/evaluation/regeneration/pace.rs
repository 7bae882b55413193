//! Observed speed of a regeneration, for progress displays.

use tokio::time::Instant;

use super::Progress;

/// Counts from the first look on.
#[derive(Default)]
pub struct Pace {
    first: Option<(Instant, i64)>,
}

impl Pace {
    /// Sessions a second since the first look, and the seconds that are left at that rate.
    pub fn look(&mut self, progress: &Progress) -> (f64, Option<f64>) {
        let done = progress.completed + progress.failed;
        let (begun, before) = *self.first.get_or_insert((Instant::now(), done));
        #[allow(clippy::cast_precision_loss)] // a number of sessions
        let (ended, left) = ((done - before).max(0) as f64, (progress.total - done).max(0) as f64);
        let rate = ended / begun.elapsed().as_secs_f64().max(0.1);
        (rate, (rate > 0.0).then(|| left / rate))
    }
}
