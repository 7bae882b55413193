//! What an organization sets about learning from its sessions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::config::prompt_version;
use crate::http::fields::{Fields, Read};
use judge::prompts::Kind;

/// How learnings are extracted, aggregated and tuned.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct LearningConfig {
    /// Whether what is published is learned from.
    #[schema(required = false)]
    pub enabled: bool,
    /// Interactions of one person that are read together.
    #[schema(required = false, minimum = 2, maximum = 100)]
    pub window: i64,
    /// How far the next window begins after the last one; at most `window`.
    #[schema(required = false, minimum = 1, maximum = 100)]
    pub stride: i64,
    /// A shorter window is read when nothing came for this long.
    #[schema(required = false, minimum = 60, maximum = 2_592_000)]
    pub idle_seconds: i64,
    /// null means the newest rubric this server has.
    pub extraction_prompt_version: Option<String>,
    /// Whether playbooks of several people become pending agent playbooks.
    #[schema(required = false)]
    pub aggregation: bool,
    /// Different people who must have taught the same before it is proposed for all.
    #[schema(required = false, minimum = 2, maximum = 100)]
    pub min_users: i64,
    /// Judged sessions before a learning can be proposed for archiving or editing.
    #[schema(required = false, minimum = 3, maximum = 10_000)]
    pub tuning_min_sessions: i64,
}

impl Default for LearningConfig {
    fn default() -> Self {
        LearningConfig {
            enabled: true,
            window: 10,
            stride: 8,
            idle_seconds: 6 * 3600,
            extraction_prompt_version: None,
            aggregation: true,
            min_users: 5,
            tuning_min_sessions: 5,
        }
    }
}

impl Read for LearningConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let default = LearningConfig::default();
        let window = f.integer("window", 2..=100).unwrap_or(default.window);
        let stride = f.integer("stride", 1..=100);
        if stride.is_some_and(|stride| stride > window) {
            f.problem("stride", "out_of_range", "must not be longer than the window");
        }
        LearningConfig {
            enabled: f.optional_flag("enabled").unwrap_or(default.enabled),
            window,
            stride: stride.unwrap_or(default.stride.min(window)),
            idle_seconds: f.integer("idle_seconds", 60..=2_592_000).unwrap_or(default.idle_seconds),
            extraction_prompt_version: prompt_version(
                f,
                "extraction_prompt_version",
                Kind::LearningExtraction,
            ),
            aggregation: f.optional_flag("aggregation").unwrap_or(default.aggregation),
            min_users: f.integer("min_users", 2..=100).unwrap_or(default.min_users),
            tuning_min_sessions: f
                .integer("tuning_min_sessions", 3..=10_000)
                .unwrap_or(default.tuning_min_sessions),
        }
    }
}
