//! Requests per second and credential, counted in this process.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::config::Settings;
use storage::error::{Code, Error, Result};

pub struct RateLimits(Option<DefaultKeyedRateLimiter<String>>);

impl RateLimits {
    pub fn new(settings: &Settings) -> Self {
        let limit = &settings.rate_limit;
        let on_loopback = settings
            .server
            .listen
            .replace("localhost", "127.0.0.1")
            .parse::<std::net::SocketAddr>()
            .is_ok_and(|address| address.ip().is_loopback());
        let (Some(rate), Some(burst)) =
            (NonZeroU32::new(limit.requests_per_second), NonZeroU32::new(limit.burst))
        else {
            return RateLimits(None);
        };
        if on_loopback && !limit.on_loopback {
            return RateLimits(None);
        }
        RateLimits(Some(RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst))))
    }

    /// Counts one request of this credential.
    pub fn check(&self, credential_id: &str) -> Result<()> {
        let Some(limiter) = &self.0 else {
            return Ok(());
        };
        limiter.check_key(&credential_id.to_owned()).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            let seconds = wait.as_secs() + u64::from(wait > Duration::from_secs(wait.as_secs()));
            Error::Refused {
                code: Code::RateLimited,
                detail: format!("This credential sends too fast; wait {} s.", seconds.max(1)),
                problems: Vec::new(),
                retry_after: Some(seconds.max(1)),
            }
        })
    }
}
