//! The one list of tables that hold what belongs to a person.
//!
//! Export, erasure, the final empty check, the audit counts and the triggers of the wall all iterate [`USER_TABLES`]. A
//! test compares both lists with the live schema on both engines: a table that is in neither fails it.

use storage::subjects::user_tables::{UserTable, owned};

/// The table of links between a person and the organization's playbooks.
pub const LINKS: &str = "agent_playbook_sources";

/// In the order in which rows are deleted: what points at a session goes before the session.
pub const USER_TABLES: &[UserTable] = &[
    owned("jobs", "jobs").user_optional().by("job_id").json(&["payload"]),
    owned("model_training", "model_training").by("session_id, model_number").flags(&["is_success"]),
    owned("candidate_verdicts", "candidate_verdicts")
        .by("session_id, job_id")
        .flags(&["live_success", "is_success"]),
    owned("judgements_under_way", "judgements_under_way").by("session_id"),
    owned("review_draws", "review_draws").by("session_id"),
    owned("session_labels", "labels")
        .by("session_id, evaluation_name, labelled_by")
        .flags(&["is_success"]),
    owned("learning_verdicts", "learning_verdicts")
        .by("session_id, interaction_id, kind, learning_id")
        .json(&["diagnosis"])
        .flags(&["is_relevant", "diagnosis_evidence_complete"]),
    owned("cited_rules", "cited_rules").by("session_id, kind, rule_id").flags(&["is_success"]),
    owned("shadow_verdicts", "shadow_verdicts")
        .by("session_id, interaction_id, judge_prompt_version")
        .flags(&["service_is_request_1", "is_significantly_better", "order_consistent"]),
    owned("shadow_sessions", "shadow_sessions").by("session_id, judge_prompt_version"),
    owned("imported_scores", "imported_scores").by("session_id, source_run_id"),
    owned("evaluation_results", "evaluation_results")
        .by("session_id, evaluation_name, agent_version")
        .json(&["tags", "flags"])
        .flags(&["is_success", "is_escalated", "is_newest"]),
    owned("verdict_gaps", "verdict_gaps").by("session_id, agent_version").flags(&["is_newest"]),
    owned("evaluation_decisions", "evaluation_decisions").by("session_id"),
    owned("tuning_evidence", "tuning_evidence")
        .by("proposal_id, session_id, interaction_id")
        .json(&["interaction_ids"]),
    owned("tuning_proposals", "tuning_proposals")
        .user_optional()
        .by("proposal_id")
        .json(&["trial"]),
    owned("learning_proposals", "learning_proposals")
        .by("window_no, place")
        .json(&["source_interaction_ids"]),
    owned("learning_windows", "learning_windows").by("window_no").json(&["flags"]),
    owned("learning_streams", "learning_streams").by("subject"),
    owned("agent_playbook_sources", LINKS)
        .by("agent_playbook_id, user_playbook_id")
        .json(&["source_interaction_ids"]),
    owned("profile_vectors", "profile_vectors").by("profile_no"),
    owned("user_playbook_vectors", "user_playbook_vectors").by("user_playbook_id"),
    owned("profiles", "profiles").by("profile_no").json(&[
        "custom_features",
        "tags",
        "source_interaction_ids",
    ]),
    owned("user_playbooks", "user_playbooks")
        .by("user_playbook_id")
        .json(&["tags", "source_interaction_ids"]),
    owned("learning_scopes", "learning_scopes").by("subject"),
    owned("trial_exposures", "trial_exposures")
        .by("session_id, agent_playbook_id, epoch_no")
        .flags(&["withheld"])
        .without_rowid(),
    owned("webhook_deliveries", "webhook_deliveries").user_optional().by("delivery_id"),
    owned("questions", "questions").by("question_id").json(&["args", "tags", "result"]),
    owned("session_outcomes", "outcomes").by("session_id, revision").json(&["metadata"]),
    owned("interactions", "interactions").by("session_id, interaction_id").json(&[
        "tools_used",
        "citations",
        "retrieved_learnings",
        "usage",
    ]),
    owned("requests", "requests")
        .by("session_id, request_id")
        .json(&["answer"])
        .flags(&["evaluation_only"]),
    owned("sessions", "sessions").by("session_id"),
    owned("experiment_exposures", "experiment_exposures")
        .by("session_id, experiment_id")
        .without_rowid(),
    // Last: what goes before them marks users as stale.
    owned("experiment_stale_users", "experiment_stale_users").by("experiment_id").without_rowid(),
    owned("experiment_user_sums", "experiment_user_sums").by("experiment_id").without_rowid(),
];

const FOLLOWS: &str = "full-text index (SQLite): triggers keep it together with its table, row by row; bytes of \
    deleted entries go with learnings::compact_index";

const SUMS: &str =
    "sums that name nobody; they follow every row, and a line without rows is deleted";

const DELTAS: &str = "what is not folded into the sums yet; names nobody";

/// Tables that hold nothing of a person, each with the reason.
pub const NOT_USER_DATA: &[(&str, &str)] = &[
    ("schema_migrations", "versions of the schema"),
    ("schema_parts", "versions of the triggers"),
    ("installation", "facts about this installation"),
    ("organization_configs", "the organization's own settings"),
    (
        "judge_models",
        "words that at least three people used, and numbers; whom a model learned from is in model_training, and \
         the erasure of one of them empties it and trains another",
    ),
    ("regenerations", "windows and counts of an organization's replays; their sessions are jobs"),
    ("trial_epochs", "digests, shares and times of playbooks on trial"),
    ("experiments", "the organization's own: names, shares, times and purposes of its experiments"),
    ("experiment_strata", "sources, agent versions and judges that an experiment met"),
    ("experiment_looks", "intervals and p-values of an experiment as a whole"),
    ("experiment_daily_looks", "lifts of an experiment as a whole, day by day"),
    ("evaluation_rollups", SUMS),
    ("gap_rollups", SUMS),
    ("rule_rollups", SUMS),
    ("shadow_session_rollups", SUMS),
    ("shadow_turn_rollups", SUMS),
    ("evaluation_deltas", DELTAS),
    ("gap_deltas", DELTAS),
    ("rule_deltas", DELTAS),
    ("shadow_session_deltas", DELTAS),
    ("shadow_turn_deltas", DELTAS),
    ("folded_deltas", "how far the deltas were folded"),
    ("webhooks", "addresses that the organization has its events sent to"),
    ("webhook_news", "which news of the organization's experiments and judge were told"),
    ("alert_rules", "metrics that the organization watches, over all its users"),
    ("alert_episodes", "means of such a metric, over all users"),
    ("credentials", "tokens of the organization's programs, as hashes"),
    ("browser_sessions", "signed-in browsers of credentials, as hashes"),
    (
        "people",
        "those who run the installation and signed in with its provider; they are not the users it stores",
    ),
    ("person_sessions", "their signed-in browsers, as hashes"),
    (
        "subjects",
        "the barrier itself: keyed by a hash that cannot be turned back; user_id is set only while the person is \
         not erased",
    ),
    (
        "purge_operations",
        "erasures by reference, with counts; the user id is sealed and goes at the end",
    ),
    ("governance_exports", "which exports were made, by reference"),
    ("audit_events", "who did what when, by reference, with counts"),
    ("sequences", "counters (SQLite)"),
    ("organization_scopes", "one number per organization for the full-text index"),
    (
        "agent_playbooks",
        "the organization's own; what links them to people is in agent_playbook_sources, and what one of these people \
         alone said is masked when they are erased",
    ),
    ("agent_playbook_vectors", "vectors of the organization's own playbooks"),
    ("agent_playbook_decisions", "what the organization decided about its own playbooks"),
    ("rejected_ideas", "words of the organization's own playbooks that it rejected"),
    ("profiles_index", FOLLOWS),
    ("profiles_index_config", FOLLOWS),
    ("profiles_index_data", FOLLOWS),
    ("profiles_index_docsize", FOLLOWS),
    ("profiles_index_idx", FOLLOWS),
    ("user_playbooks_index", FOLLOWS),
    ("user_playbooks_index_config", FOLLOWS),
    ("user_playbooks_index_data", FOLLOWS),
    ("user_playbooks_index_docsize", FOLLOWS),
    ("user_playbooks_index_idx", FOLLOWS),
    ("agent_playbooks_index", FOLLOWS),
    ("agent_playbooks_index_config", FOLLOWS),
    ("agent_playbooks_index_data", FOLLOWS),
    ("agent_playbooks_index_docsize", FOLLOWS),
    ("agent_playbooks_index_idx", FOLLOWS),
];
