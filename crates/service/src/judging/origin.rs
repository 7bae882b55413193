//! The origin of a verdict or a proposal: its judge, rubric and cost.

use judge::{Provenance, VerdictFlag};
use storage::db::Value;

/// The origin of a verdict or a proposal.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    pub judge: String,
    pub prompt_version: String,
    pub rubric_hash: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_usd: Option<f64>,
    pub latency_ms: i64,
    pub attempts: i64,
    pub flags: Vec<VerdictFlag>,
}

impl Origin {
    /// The columns of all but the flags.
    pub fn columns(&self) -> [(&'static str, Value<'_>); 8] {
        [
            ("judge", (&self.judge).into()),
            ("prompt_version", (&self.prompt_version).into()),
            ("rubric_hash", (&self.rubric_hash).into()),
            ("input_tokens", self.input_tokens.into()),
            ("output_tokens", self.output_tokens.into()),
            ("cost_usd", self.cost_usd.into()),
            ("latency_ms", self.latency_ms.into()),
            ("attempts", self.attempts.into()),
        ]
    }
}

impl From<Provenance> for Origin {
    fn from(p: Provenance) -> Self {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Origin {
            flags: p.flags,
            judge: p.judge,
            prompt_version: p.prompt_version.to_owned(),
            rubric_hash: p.rubric_hash,
            input_tokens: whole(p.input_tokens),
            output_tokens: whole(p.output_tokens),
            cost_usd: p.cost_usd,
            latency_ms: whole(p.latency_ms),
            attempts: i64::from(p.attempts),
        }
    }
}
