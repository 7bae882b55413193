//! Reading and parsing bodies within bounds.
//!
//! Memory follows the bytes that have come, never those that were announced. Bodies beyond [`SMALL`] share a budget of
//! bytes for as long as their requests are in work, and are parsed beside the threads that serve everybody else.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fields::{self, Outcome, Read};
use storage::error::{Code, Error, Result};

/// Bodies up to this size cost less than the bookkeeping.
const SMALL: usize = 64 << 10;
/// Values in one body. In memory each takes many times the two bytes it can have in JSON.
const MOST_VALUES: usize = 250_000;
/// Large bodies that are parsed at once.
const PARSERS: usize = 2;

/// The longest wait for a share of the budget.
const PATIENCE: Duration = Duration::from_secs(5);

/// The large bodies of this process.
pub struct BodyBudget {
    bytes: Arc<Semaphore>,
    whole: usize,
    parsers: Arc<Semaphore>,
}

/// A part of the budget, given back when it is dropped.
pub type Share = Option<OwnedSemaphorePermit>;

impl BodyBudget {
    pub fn new(bytes: usize) -> Self {
        BodyBudget {
            bytes: Arc::new(Semaphore::new(bytes)),
            whole: bytes,
            parsers: Arc::new(Semaphore::new(PARSERS)),
        }
    }

    async fn share(&self, bytes: usize) -> Result<Share> {
        let bytes = u32::try_from(bytes.min(self.whole)).unwrap_or(u32::MAX);
        let share = self.bytes.clone().acquire_many_owned(bytes);
        match tokio::time::timeout(PATIENCE, share).await {
            Ok(Ok(share)) => Ok(Some(share)),
            _ => Err(Error::unavailable("Many large bodies are in work; try again shortly.", 1)),
        }
    }

    /// All of a body, in the pieces that it came in. `announced` is what its sender says of its length.
    pub async fn read(
        &self,
        mut body: Body,
        announced: Option<usize>,
        limit: usize,
    ) -> Result<(Vec<Bytes>, Share)> {
        if announced.is_some_and(|length| length > limit) {
            return Err(too_large(limit));
        }
        let mut share = match announced {
            Some(length) if length > SMALL => self.share(length).await?,
            _ => None,
        };
        let (mut pieces, mut length) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let broken = |_| Error::refused(Code::BadRequest, "The body broke off before its end.");
            let Ok(piece) = frame.map_err(broken)?.into_data() else { continue };
            length += piece.len();
            if length > limit {
                return Err(too_large(limit));
            }
            if share.is_none() && length > SMALL {
                share = self.share(limit).await?;
            }
            pieces.push(piece);
        }
        Ok((pieces, share))
    }

    /// The value that a body says, by the rules of `T`.
    pub async fn parse<T: Read + Send + 'static>(&self, pieces: Vec<Bytes>) -> Result<Outcome<T>> {
        if pieces.iter().map(Bytes::len).sum::<usize>() <= SMALL {
            return parse(&whole(pieces));
        }
        let turn = self.parsers.clone().acquire_owned().await;
        let parsed = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            parse(&whole(pieces))
        });
        parsed.await.map_err(|_| Error::Internal("parsing a body panicked".to_owned()))?
    }
}

/// The pieces as one; most bodies come in one, which is taken as it is.
fn whole(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() < 2 { pieces.pop().unwrap_or_default() } else { pieces.concat().into() }
}

fn too_large(limit: usize) -> Error {
    let detail = format!("The body is larger than {limit} bytes; split it into several requests.");
    Error::refused(Code::BodyTooLarge, detail)
}

fn parse<T: Read>(bytes: &[u8]) -> Result<Outcome<T>> {
    if bytes.len() > MOST_VALUES && values(bytes) > MOST_VALUES {
        let detail = format!("The body has more than {MOST_VALUES} values; split it.");
        return Err(Error::refused(Code::BodyTooLarge, detail));
    }
    let mut body: Value = serde_json::from_slice(bytes)
        .map_err(|e| Error::refused(Code::MalformedJson, format!("The body is not JSON: {e}.")))?;
    // Objects that differ only in the order of their names are the same content.
    body.sort_all_objects();
    fields::read_body(&body).map_err(Error::invalid)
}

/// The number of values in a JSON text: one, and one more after each comma and each opening bracket.
fn values(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, count) in
            [("1", 1), ("[1,2,3]", 4), (r#"{"a":",,,[","b":"\",{"}"#, 3), ("[[[[", 5), ("\"[", 1)]
        {
            assert_eq!(values(json.as_bytes()), count, "{json}");
        }
    }

    #[test]
    fn a_body_of_countless_small_values_is_refused_before_it_is_built() {
        let body = format!("[{}1]", "1,".repeat(MOST_VALUES));
        let refused = parse::<()>(body.as_bytes()).err().unwrap();
        assert_eq!(refused.code(), Code::BodyTooLarge);
    }

    #[tokio::test]
    async fn a_body_waits_for_its_share_and_gives_it_back() {
        let budget = BodyBudget::new(3 * SMALL);
        let body = || Body::from(vec![b' '; 2 * SMALL]);
        let (pieces, share) = budget.read(body(), Some(2 * SMALL), 10 * SMALL).await.unwrap();
        assert_eq!(whole(pieces).len(), 2 * SMALL);
        let second = budget.read(body(), None, 10 * SMALL);
        tokio::pin!(second);
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(share);
        second.await.unwrap();
        // Nothing is set aside for what was merely announced and is small.
        let small = Body::from("{}");
        assert!(budget.read(small, Some(2), 10).await.unwrap().1.is_none());
        assert!(budget.read(body(), Some(1), SMALL).await.is_err());
    }
}
