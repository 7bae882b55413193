//! The owners of tables.

use std::collections::BTreeSet;

use super::{Source, code, invented, sources};

/// The folder that writes a table; `storage` is the crate.
const TABLE_OWNERS: &[(&str, &[&str])] = &[
    ("alerts", &["alert_episodes", "alert_rules"]),
    ("credentials", &["browser_sessions", "credentials", "people", "person_sessions"]),
    (
        "evaluation",
        &[
            "candidate_verdicts",
            "cited_rules",
            "evaluation_decisions",
            "evaluation_deltas",
            "evaluation_results",
            "evaluation_rollups",
            "folded_deltas",
            "gap_deltas",
            "gap_rollups",
            "imported_scores",
            "judge_models",
            "judgements_under_way",
            "learning_verdicts",
            "model_training",
            "regenerations",
            "review_draws",
            "rule_deltas",
            "rule_rollups",
            "session_labels",
            "shadow_session_deltas",
            "shadow_session_rollups",
            "shadow_sessions",
            "shadow_turn_deltas",
            "shadow_turn_rollups",
            "shadow_verdicts",
            "verdict_gaps",
        ],
    ),
    (
        "experiments",
        &[
            "experiment_daily_looks",
            "experiment_exposures",
            "experiment_looks",
            "experiment_stale_users",
            "experiment_strata",
            "experiment_user_sums",
            "experiments",
        ],
    ),
    ("governance", &["governance_exports", "purge_operations"]),
    (
        "learning_loop",
        &[
            "learning_proposals",
            "learning_streams",
            "learning_windows",
            "tuning_evidence",
            "tuning_proposals",
        ],
    ),
    (
        "learnings",
        &[
            "agent_playbook_decisions",
            "agent_playbook_sources",
            "agent_playbook_vectors",
            "agent_playbooks",
            "agent_playbooks_index",
            "learning_scopes",
            "organization_scopes",
            "profile_vectors",
            "profiles",
            "profiles_index",
            "rejected_ideas",
            "trial_epochs",
            "trial_exposures",
            "user_playbook_vectors",
            "user_playbooks",
            "user_playbooks_index",
        ],
    ),
    ("organization", &["organization_configs"]),
    ("questions", &["questions"]),
    ("sessions", &["interactions", "requests", "session_outcomes", "sessions"]),
    ("storage", &["audit_events", "jobs", "schema_parts", "sequences", "subjects"]),
    ("webhooks", &["webhook_deliveries", "webhook_news", "webhooks"]),
    ("wiring", &["installation"]),
];

/// Foreign tables that a folder uses, and why. Everything else reads through a function of the owner.
const FOREIGN_TABLES: &[(&str, &[&str], &str)] = &[
    ("app", &["installation"], "readiness makes a write there"),
    (
        "evaluation",
        &[
            "agent_playbooks",
            "interactions",
            "jobs",
            "requests",
            "session_outcomes",
            "sessions",
            "subjects",
            "trial_epochs",
            "trial_exposures",
        ],
        "verdicts are dated, filtered, ordered and counted by their sessions, in one statement; reviews are drawn by \
         arm, a judgement under way is its job's, and effects join what was found with verdicts",
    ),
    (
        "experiments",
        &[
            "agent_playbook_sources",
            "evaluation_decisions",
            "evaluation_results",
            "interactions",
            "learning_verdicts",
            "requests",
            "session_labels",
            "sessions",
            "subjects",
            "verdict_gaps",
        ],
        "sums over a user's sessions are one statement; holdouts are not told who a playbook came from",
    ),
    (
        "governance",
        &["interactions", "subjects"],
        "exports page through turns; the barrier's rows are its register",
    ),
    (
        "learning_loop",
        &[
            "agent_playbook_sources",
            "agent_playbooks",
            "profiles",
            "subjects",
            "user_playbook_vectors",
            "user_playbooks",
        ],
        "learnings are compared, scored and traced in bulk; a locked row's user is named by its key",
    ),
    (
        "learnings",
        &["subjects"],
        "a locked row's user is named by its key; who lacks vectors is named",
    ),
    ("questions", &["subjects"], "a locked row's user is named by its key"),
    (
        "storage",
        &["installation"],
        "which key subjects are made with is a fact about the installation",
    ),
    (
        "sessions",
        &["evaluation_results", "experiment_exposures", "subjects"],
        "a list shows the newest verdict; a publish takes over its session's exposure in its own statement; lists name \
         the users of their turns",
    ),
];

/// Tables that another folder than the owner writes.
const WRITTEN_BY_OTHERS: &[(&str, &str)] =
    &[("app", "installation"), ("governance", "subjects"), ("storage", "installation")];

/// The table names that a source's SQL uses, and whether it writes them.
fn tables_used<'a>(source: &'a Source, tables: &BTreeSet<String>) -> BTreeSet<(&'a str, bool)> {
    let mut used = BTreeSet::new();
    let code: Vec<&str> = code(source).map(|(_, line)| line).collect();
    let words = code.iter().flat_map(|line| line.split_whitespace());
    let name = |word: &'a str| {
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
        &word[..end]
    };
    let mut before = ("", "");
    for word in words {
        let verb = before.1.trim_start_matches(['"', '(']);
        if matches!(verb, "FROM" | "JOIN" | "INTO" | "UPDATE") && tables.contains(name(word)) {
            let writes = verb == "INTO" || verb == "UPDATE" || before.0.ends_with("DELETE");
            used.insert((name(word), writes));
        }
        before = (before.1, word);
    }
    used
}

fn all_tables() -> BTreeSet<String> {
    TABLE_OWNERS.iter().flat_map(|(_, tables)| *tables).map(|table| (*table).to_owned()).collect()
}

/// Every table that a folder uses without owning it or being allowed to.
fn foreign_tables(sources: &[Source]) -> Vec<String> {
    let tables = all_tables();
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|s| s.package == "service" || s.package == "storage") {
        let folder = if source.package == "storage" { "storage" } else { source.module.as_str() };
        for (table, writes) in tables_used(source, &tables) {
            let owner = TABLE_OWNERS.iter().find(|(_, tables)| tables.contains(&table)).unwrap().0;
            let listed =
                |(by, tables, _): &(&str, &[&str], &str)| *by == folder && tables.contains(&table);
            let may = owner == folder
                || FOREIGN_TABLES.iter().any(listed)
                    && (!writes || WRITTEN_BY_OTHERS.contains(&(folder, table)));
            if !may {
                let does = if writes { "writes" } else { "reads" };
                wrong.push(format!("{}: {does} {table}, which is {owner}'s", source.path));
            }
        }
    }
    wrong
}

#[test]
fn tables_are_used_by_their_owners() {
    let mut sources = sources();
    let wrong = foreign_tables(&sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // One foreign table name is enough to fail; so is writing where only reading is allowed.
    for statement in ["SELECT 1 FROM profiles", "DELETE FROM sessions WHERE 1 = 1"] {
        sources.push(invented("evaluation/sql/new.rs", &format!("run!(tx, \"{statement}\")")));
        assert_eq!(foreign_tables(&sources).len(), 1, "{statement}");
        sources.pop();
    }
    let migrations = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/service/migrations/sqlite");
    let files = std::fs::read_dir(migrations).unwrap();
    let text: String =
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let mut made = BTreeSet::new();
    for (verb, name) in ["CREATE TABLE ", "CREATE VIRTUAL TABLE "].iter().flat_map(|verb| {
        text.match_indices(verb).map(|(at, verb)| (verb, &text[at + verb.len()..]))
    }) {
        let name = name.trim_start_matches("IF NOT EXISTS ");
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap();
        assert!(!name[..end].is_empty(), "{verb}");
        made.insert(name[..end].to_owned());
    }
    assert_eq!(made, all_tables(), "every table has an owner");
}
