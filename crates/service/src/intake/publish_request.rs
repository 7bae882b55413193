//! The fields of a publish and their rules.

use serde::Serialize;

use crate::experiments::Arm;
use crate::http::fields::{Fields, Read};
use crate::learning_loop::extraction::LearningFlags;
use crate::sessions::{ITEMS, InteractionData, LEARNINGS_PER_REQUEST};
use base::owner::UserId;

const EXPERIMENT_ID_LENGTH: usize = 128;

/// One request of a session: what was said and done since the last one.
#[derive(Clone, Debug, Serialize)]
pub struct PublishRequest {
    #[serde(skip)]
    pub request_id: Option<String>,
    pub user_id: UserId,
    pub session_id: String,
    pub interaction_data_list: Vec<InteractionData>,
    pub source: String,
    pub agent_version: Option<String>,
    pub created_at: Option<i64>,
    pub session_finished: bool,
    pub force_extraction: bool,
    pub skip_aggregation: bool,
    pub evaluation_only: bool,
    pub override_learning_stall: bool,
    pub retrieval_experiment_id: Option<String>,
    pub retrieval_experiment_arm: Option<Arm>,
}

crate::request_body!(PublishRequest, "PublishRequest");

impl PublishRequest {
    pub fn learning_flags(&self) -> LearningFlags {
        LearningFlags {
            evaluation_only: self.evaluation_only,
            skip_aggregation: self.skip_aggregation,
            urgent: self.force_extraction || self.session_finished,
            override_stall: self.override_learning_stall,
        }
    }
}

impl Read for PublishRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        let request = PublishRequest {
            request_id: f
                .about("Makes the publish idempotent; minted when absent.")
                .optional_id("request_id"),
            user_id: f.id("user_id"),
            session_id: f.id("session_id"),
            interaction_data_list: f.required_list("interaction_data_list", ITEMS),
            source: read_source(f),
            agent_version: f
                .about("Empty means the configured default.")
                .blank_or_id("agent_version"),
            created_at: f
                .about("When the request happened; now when absent. Lets history be imported.")
                .moment("created_at"),
            session_finished: f
                .about("Nothing more is coming: the session is due for evaluation at once.")
                .flag("session_finished"),
            force_extraction: f.flag("force_extraction"),
            skip_aggregation: f.flag("skip_aggregation"),
            evaluation_only: f.about("Keeps the session out of learning.").flag("evaluation_only"),
            override_learning_stall: f.flag("override_learning_stall"),
            retrieval_experiment_id: f
                .about("With `retrieval_experiment_arm`: the attribution a search answered with.")
                .id_up_to("retrieval_experiment_id", EXPERIMENT_ID_LENGTH),
            retrieval_experiment_arm: f
                .about("Goes with `retrieval_experiment_id`.")
                .word("retrieval_experiment_arm"),
        };
        let (id, arm) = ("retrieval_experiment_id", "retrieval_experiment_arm");
        match (f.is_absent(id), f.is_absent(arm)) {
            (true, false) => f.problem(id, "required", "goes with retrieval_experiment_arm"),
            (false, true) => f.problem(arm, "required", "goes with retrieval_experiment_id"),
            _ => {}
        }
        if request.evaluation_only && request.force_extraction {
            f.problem("force_extraction", "contradiction", "cannot go with evaluation_only");
        }
        let items = &request.interaction_data_list;
        let learnings: usize = items.iter().map(|item| item.retrieved_learnings.len()).sum();
        if learnings > LEARNINGS_PER_REQUEST {
            let detail =
                format!("{learnings} retrieved_learnings; at most {LEARNINGS_PER_REQUEST}");
            f.problem("interaction_data_list", "too_long", detail);
        }
        let list = "interaction_data_list";
        if !items.is_empty() && items.iter().all(InteractionData::is_empty) && !f.is_refused(list) {
            f.problem(list, "empty", "no item carries anything");
        }
        request
    }
}

fn read_source(f: &mut Fields<'_>) -> String {
    let source = f
        .about("Where the session comes from: empty, or lower-case letters, digits and `._:-`.")
        .text("source", 128);
    let mut bytes = source.bytes();
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let valid = bytes.next().is_none_or(plain) && bytes.all(|b| plain(b) || b"._:-".contains(&b));
    if !valid {
        f.problem(
            "source",
            "bad_form",
            "must be empty, or lower-case letters, digits and ._:- starting with a letter or digit",
        );
    }
    source
}
