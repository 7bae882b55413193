//! Requests per second, counted in this process: of a credential, and of an address that has none.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::connections::network_of;
use crate::config::Settings;
use storage::error::{Code, Error, Result};

/// Buckets beyond this number are looked through for those that are full again.
const MANY: usize = 50_000;

/// A group of requests that share one limit.
#[derive(Clone, Copy, Debug)]
pub enum RateBucket<'a> {
    Credential(&'a str),
    /// Attempts to sign in, from one address.
    SignIn(IpAddr),
    /// Requests with a token that nobody knows, from one address.
    UnknownToken(IpAddr),
}

impl RateBucket<'_> {
    fn key(self) -> String {
        match self {
            RateBucket::Credential(id) => format!("credential {id}"),
            RateBucket::SignIn(address) => format!("sign-in {}", network_of(address)),
            RateBucket::UnknownToken(address) => format!("unknown {}", network_of(address)),
        }
    }
}

pub struct RateLimits(Option<Limiters>);

struct Limiters {
    credentials: DefaultKeyedRateLimiter<String>,
    strangers: DefaultKeyedRateLimiter<String>,
}

impl RateLimits {
    pub fn new(settings: &Settings) -> Self {
        let limit = &settings.rate_limit;
        let on_loopback = settings
            .server
            .listen
            .replace("localhost", "127.0.0.1")
            .parse::<std::net::SocketAddr>()
            .is_ok_and(|address| address.ip().is_loopback());
        if on_loopback && !limit.on_loopback {
            return RateLimits(None);
        }
        let limiter = |per_second, burst| {
            let quota = Quota::per_second(NonZeroU32::new(per_second)?);
            Some(RateLimiter::keyed(quota.allow_burst(NonZeroU32::new(burst)?)))
        };
        let credentials = limiter(limit.requests_per_second, limit.burst);
        let strangers = limiter(limit.strangers_per_second, limit.strangers_burst);
        RateLimits(
            credentials
                .zip(strangers)
                .map(|(credentials, strangers)| Limiters { credentials, strangers }),
        )
    }

    /// Counts one request.
    pub fn check(&self, bucket: RateBucket<'_>) -> Result<()> {
        let Some(limiters) = &self.0 else {
            return Ok(());
        };
        let (limiter, whose) = match bucket {
            RateBucket::Credential(_) => (&limiters.credentials, "This credential"),
            RateBucket::SignIn(_) | RateBucket::UnknownToken(_) => {
                (&limiters.strangers, "This address")
            }
        };
        if limiter.len() > MANY {
            limiter.retain_recent();
        }
        limiter.check_key(&bucket.key()).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            let seconds = wait.as_secs() + u64::from(wait > Duration::from_secs(wait.as_secs()));
            Error::Refused {
                code: Code::RateLimited,
                detail: format!("{whose} sends too fast; wait {} s.", seconds.max(1)),
                problems: Default::default(),
                retry_after: Some(seconds.max(1)),
            }
        })
    }
}
