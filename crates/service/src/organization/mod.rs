//! An organization's settings: the description of its agent for the judge, its evaluations and their
//! sampling.
//!
//! - The configuration is one document with a version. A write that names a version is refused when another one
//!   came in between.
//! - Every field has a type, a default and bounds; a field that does not exist is refused with the nearest name
//!   that does. What is stored is always complete and valid.
//! - The fields of the public Python client's configuration are accepted and kept, so that it can read and write.
//! - Experiments are changed through their own endpoints, never here.

mod client_config;
mod config;
mod evaluators;
pub mod http;
mod learning;
mod learning_trials;
mod recent;
mod rules;
mod sql;

pub use config::{
    AgentSuccessConfig, GovernanceConfig, JudgeConfig, JudgeKind, OrganizationConfig, ToolCanUse,
    prompt_version,
};
pub use evaluators::{Evaluator, PATTERN_SIZE, Rule};
pub use learning::LearningConfig;
pub use learning_trials::LearningTrialsConfig;
pub use recent::{RecentConfigs, recent};
pub use rules::{Versioned, config_in, get, pin_session_success, prefer_learned, set, update};
