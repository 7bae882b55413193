//! The time of day, asked for in one place so that tests can move it by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

/// The source of the time. Cheap to clone; clones of a manual clock share their hands.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands still at `unix_seconds` until `advance` moves it.
    pub fn manual(unix_seconds: i64) -> Self {
        Clock::Manual(Arc::new(AtomicI64::new(unix_seconds)))
    }

    /// Unix seconds.
    pub fn now(&self) -> i64 {
        match self {
            Clock::System => i64::try_from(system_now().as_secs()).unwrap_or(i64::MAX),
            Clock::Manual(seconds) => seconds.load(Ordering::SeqCst),
        }
    }

    /// Unix milliseconds, for ids that sort by time.
    pub fn now_millis(&self) -> u64 {
        match self {
            Clock::System => u64::try_from(system_now().as_millis()).unwrap_or(u64::MAX),
            Clock::Manual(seconds) => {
                u64::try_from(seconds.load(Ordering::SeqCst)).unwrap_or(0) * 1000
            }
        }
    }

    /// Moves a manual clock; a system clock cannot be moved and stays as it is.
    pub fn advance(&self, seconds: i64) {
        if let Clock::Manual(hands) = self {
            hands.fetch_add(seconds, Ordering::SeqCst);
        }
    }
}

/// A moment as RFC 3339 in UTC: `2026-01-15T12:00:00Z`.
pub fn rfc3339(unix_seconds: i64) -> String {
    jiff::Timestamp::from_second(unix_seconds).unwrap_or_default().to_string()
}

#[allow(clippy::disallowed_methods)] // the one place that reads the real clock
fn system_now() -> Duration {
    std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
