-- Configuration of organizations, verdicts on sessions and on learnings, decisions, labels, regenerations.

CREATE TABLE organization_configs (
    org_id     TEXT PRIMARY KEY,
    version    INTEGER NOT NULL,
    config     TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- One row per (user, session, evaluation, agent version). (interaction_count, last_interaction_id) is the state of
-- the session that was judged: turns are never changed, so equal means nothing was added or deleted since.
CREATE TABLE evaluation_results (
    result_id                INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id                   TEXT NOT NULL,
    subject                  BLOB NOT NULL,
    session_id               TEXT NOT NULL,
    evaluation_name          TEXT NOT NULL,
    agent_version            TEXT NOT NULL,
    epoch                    INTEGER NOT NULL,
    is_success               INTEGER NOT NULL CHECK (is_success IN (0, 1)),
    failure_type             TEXT NOT NULL,
    failure_reason           TEXT NOT NULL,
    number_of_corrections    INTEGER NOT NULL,
    user_turns_to_resolution INTEGER,
    is_escalated             INTEGER NOT NULL CHECK (is_escalated IN (0, 1)),
    regular_vs_shadow        TEXT,
    tags                     TEXT,
    learning_status          TEXT NOT NULL,
    created_at               INTEGER NOT NULL,
    evaluated_at             INTEGER NOT NULL,
    interaction_count        INTEGER NOT NULL,
    last_interaction_id      INTEGER NOT NULL,
    judge                    TEXT NOT NULL,
    prompt_version           TEXT NOT NULL,
    rubric_hash              TEXT NOT NULL,
    input_tokens             INTEGER NOT NULL,
    output_tokens            INTEGER NOT NULL,
    cost_usd                 REAL,
    latency_ms               INTEGER NOT NULL,
    attempts                 INTEGER NOT NULL,
    flags                    TEXT NOT NULL,
    UNIQUE (org_id, subject, session_id, evaluation_name, agent_version)
) STRICT;
CREATE INDEX evaluation_results_recent ON evaluation_results (org_id, created_at, result_id);

-- What was decided last about evaluating a session. While a job is open, the job says more.
CREATE TABLE evaluation_decisions (
    org_id     TEXT NOT NULL,
    subject    BLOB NOT NULL,
    session_id TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    decision   TEXT NOT NULL CHECK (decision IN ('sampled_out', 'skipped', 'failed', 'judged')),
    reason     TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
) STRICT;

CREATE TABLE learning_verdicts (
    result_id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id                      TEXT NOT NULL,
    subject                     BLOB NOT NULL,
    session_id                  TEXT NOT NULL,
    interaction_id              INTEGER NOT NULL,
    kind                        TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook', 'agent_playbook')),
    learning_id                 TEXT NOT NULL,
    epoch                       INTEGER NOT NULL,
    agent_version               TEXT NOT NULL,
    interaction_created_at      INTEGER NOT NULL,
    is_relevant                 INTEGER CHECK (is_relevant IN (0, 1)),
    relevance_reason            TEXT NOT NULL,
    impact                      TEXT CHECK (impact IN ('positive', 'negative', 'neutral')),
    impact_reason               TEXT NOT NULL,
    diagnosis                   TEXT,
    evaluated_playbook_digest   TEXT,
    diagnosis_evidence_complete INTEGER NOT NULL CHECK (diagnosis_evidence_complete IN (0, 1)),
    created_at                  INTEGER NOT NULL,
    judge                       TEXT NOT NULL,
    prompt_version              TEXT NOT NULL,
    rubric_hash                 TEXT NOT NULL,
    input_tokens                INTEGER NOT NULL,
    output_tokens               INTEGER NOT NULL,
    cost_usd                    REAL,
    latency_ms                  INTEGER NOT NULL,
    attempts                    INTEGER NOT NULL,
    UNIQUE (org_id, subject, session_id, interaction_id, kind, learning_id)
) STRICT;
CREATE INDEX learning_verdicts_recent ON learning_verdicts (org_id, interaction_created_at, result_id);

-- What a person says of a session. One row per labeller; a new label replaces their old one.
CREATE TABLE session_labels (
    org_id          TEXT NOT NULL,
    subject         BLOB NOT NULL,
    session_id      TEXT NOT NULL,
    evaluation_name TEXT NOT NULL,
    labelled_by     TEXT NOT NULL,
    epoch           INTEGER NOT NULL,
    is_success      INTEGER NOT NULL CHECK (is_success IN (0, 1)),
    failure_type    TEXT NOT NULL,
    note            TEXT NOT NULL,
    labelled_at     INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, evaluation_name, labelled_by)
) STRICT;

-- A replay of the judge over a window: the parent job's id, what was asked, and the final counts once it ended.
-- With candidate_version it is a judge diff, whose verdicts are in candidate_verdicts and touch no live number.
CREATE TABLE regenerations (
    job_id             TEXT PRIMARY KEY,
    org_id             TEXT NOT NULL,
    evaluation_name    TEXT NOT NULL,
    candidate_version  TEXT,
    from_ts            INTEGER NOT NULL,
    to_ts              INTEGER NOT NULL,
    seed               TEXT NOT NULL,
    sample_per_stratum INTEGER NOT NULL,
    concurrency_limit  INTEGER NOT NULL,
    max_cost_usd       REAL,
    estimated_cost_usd REAL,
    total_candidates   INTEGER NOT NULL,
    total              INTEGER NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('running', 'completed', 'cancelled', 'error')),
    reason             TEXT,
    started_at         INTEGER NOT NULL,
    finished_at        INTEGER,
    completed          INTEGER,
    failed             INTEGER,
    cost_usd           REAL
) STRICT;
CREATE UNIQUE INDEX regenerations_running ON regenerations (org_id) WHERE status = 'running';
CREATE INDEX regenerations_recent ON regenerations (org_id, started_at);

CREATE TABLE candidate_verdicts (
    org_id         TEXT NOT NULL,
    subject        BLOB NOT NULL,
    session_id     TEXT NOT NULL,
    job_id         TEXT NOT NULL,
    epoch          INTEGER NOT NULL,
    live_success   INTEGER CHECK (live_success IN (0, 1)),
    is_success     INTEGER NOT NULL CHECK (is_success IN (0, 1)),
    failure_type   TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    judge          TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    rubric_hash    TEXT NOT NULL,
    cost_usd       REAL,
    evaluated_at   INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, job_id)
) STRICT;
CREATE INDEX candidate_verdicts_of ON candidate_verdicts (job_id);
CREATE INDEX sessions_first ON sessions (org_id, first_request_at);
