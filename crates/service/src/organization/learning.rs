//! An organization's settings for learning from its sessions.

use serde::{Deserialize, Serialize};

use super::config::prompt_version;
use crate::http::fields::{Fields, Read};
use judge::prompts::Kind;

/// Settings of extraction, aggregation and tuning.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct LearningConfig {
    pub enabled: bool,
    pub window: i64,
    pub stride: i64,
    pub idle_seconds: i64,
    pub extraction_prompt_version: Option<String>,
    pub aggregation: bool,
    pub min_users: i64,
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

crate::request_body!(LearningConfig, "LearningConfig");

impl Read for LearningConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let default = LearningConfig::default();
        let window = f.about("Interactions of one person that are read together.").integer_or(
            "window",
            2..=100,
            default.window,
        );
        let stride = f
            .about("How far the next window begins after the last one; at most `window`.")
            .integer("stride", 1..=100);
        if stride.is_some_and(|stride| stride > window) {
            f.problem("stride", "out_of_range", "must not be longer than the window");
        }
        LearningConfig {
            enabled: f
                .about("Whether what is published is learned from.")
                .flag_or("enabled", default.enabled),
            window,
            stride: stride.unwrap_or(default.stride.min(window)),
            idle_seconds: f
                .about("A shorter window is read when nothing came for this long.")
                .integer_or("idle_seconds", 60..=2_592_000, default.idle_seconds),
            extraction_prompt_version: prompt_version(
                f.about("null means the newest rubric this server has."),
                "extraction_prompt_version",
                Kind::LearningExtraction,
            ),
            aggregation: f
                .about("Whether playbooks of several people become pending agent playbooks.")
                .flag_or("aggregation", default.aggregation),
            min_users: f
                .about(
                    "Different people who must have taught the same before it is proposed for all.",
                )
                .integer_or("min_users", 2..=100, default.min_users),
            tuning_min_sessions: f
                .about(
                    "Judged sessions before a learning can be proposed for archiving or editing.",
                )
                .integer_or("tuning_min_sessions", 3..=10_000, default.tuning_min_sessions),
        }
    }
}
