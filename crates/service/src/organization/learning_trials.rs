//! An organization's settings for trials of its playbooks.

use serde::{Deserialize, Serialize};

use crate::http::fields::{Fields, Read};

/// Trials: each approved agent playbook is withheld from a small random share of the users for whom it was found.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct LearningTrialsConfig {
    pub enabled: bool,
    pub new_share: f64,
    pub settled_share: f64,
    pub always_serve: Vec<String>,
}

impl Default for LearningTrialsConfig {
    fn default() -> Self {
        LearningTrialsConfig {
            enabled: false,
            new_share: 0.2,
            settled_share: 0.02,
            always_serve: Vec::new(),
        }
    }
}

crate::request_body!(LearningTrialsConfig, "LearningTrialsConfig");

impl Read for LearningTrialsConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let default = LearningTrialsConfig::default();
        let share = |share: Option<f64>, default: f64| share.unwrap_or(default);
        LearningTrialsConfig {
            enabled: f
                .about("Whether approved agent playbooks are withheld from some users, to see which help.")
                .flag_or("enabled", default.enabled),
            new_share: share(
                f.about("Share of users who do not get a playbook of which it is not known whether it helps; 0.2.")
                    .number_within("new_share", 0.01..=0.5),
                default.new_share,
            ),
            settled_share: share(
                f.about("The same of a playbook that is known to help; 0.02.")
                    .number_within("settled_share", 0.01..=0.5),
                default.settled_share,
            ),
            always_serve: f
                .about("Ids or tags of playbooks that everybody gets: those of safety and law.")
                .texts("always_serve"),
        }
    }
}
