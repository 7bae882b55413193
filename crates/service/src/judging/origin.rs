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
    /// All but the flags, in the order of the fields, which is that of the columns.
    pub fn values(&self) -> [Value<'_>; 8] {
        [
            (&self.judge).into(),
            (&self.prompt_version).into(),
            (&self.rubric_hash).into(),
            self.input_tokens.into(),
            self.output_tokens.into(),
            self.cost_usd.into(),
            self.latency_ms.into(),
            self.attempts.into(),
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
