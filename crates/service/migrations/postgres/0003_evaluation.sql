-- Configuration of organizations, verdicts on sessions and on learnings, decisions, labels, regenerations.

CREATE TABLE organization_configs (
    org_id     TEXT PRIMARY KEY,
    version    BIGINT NOT NULL,
    config     JSONB NOT NULL,
    updated_at BIGINT NOT NULL
);

-- One row per (user, session, evaluation, agent version). (interaction_count, last_interaction_id) is the state of
-- the session that was judged: turns are never changed, so equal means nothing was added or deleted since.
CREATE TABLE evaluation_results (
    result_id                BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org_id                   TEXT NOT NULL,
    subject                  UUID NOT NULL,
    session_id               TEXT NOT NULL,
    evaluation_name          TEXT NOT NULL,
    agent_version            TEXT NOT NULL,
    epoch                    BIGINT NOT NULL,
    is_success               BOOLEAN NOT NULL,
    failure_type             TEXT NOT NULL,
    failure_reason           TEXT NOT NULL,
    number_of_corrections    BIGINT NOT NULL,
    user_turns_to_resolution BIGINT,
    is_escalated             BOOLEAN NOT NULL,
    regular_vs_shadow        TEXT,
    tags                     JSONB,
    learning_status          TEXT NOT NULL,
    created_at               BIGINT NOT NULL,
    evaluated_at             BIGINT NOT NULL,
    interaction_count        BIGINT NOT NULL,
    last_interaction_id      BIGINT NOT NULL,
    judge                    TEXT NOT NULL,
    prompt_version           TEXT NOT NULL,
    rubric_hash              TEXT NOT NULL,
    input_tokens             BIGINT NOT NULL,
    output_tokens            BIGINT NOT NULL,
    cost_usd                 DOUBLE PRECISION,
    latency_ms               BIGINT NOT NULL,
    attempts                 BIGINT NOT NULL,
    flags                    JSONB NOT NULL,
    UNIQUE (org_id, subject, session_id, evaluation_name, agent_version)
);
CREATE INDEX evaluation_results_recent ON evaluation_results (org_id, created_at, result_id);

-- What was decided last about evaluating a session. While a job is open, the job says more.
CREATE TABLE evaluation_decisions (
    org_id     TEXT NOT NULL,
    subject    UUID NOT NULL,
    session_id TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    decision   TEXT NOT NULL CHECK (decision IN ('sampled_out', 'skipped', 'failed', 'judged')),
    reason     TEXT NOT NULL,
    decided_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
);

CREATE TABLE learning_verdicts (
    result_id                   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org_id                      TEXT NOT NULL,
    subject                     UUID NOT NULL,
    session_id                  TEXT NOT NULL,
    interaction_id              BIGINT NOT NULL,
    kind                        TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook', 'agent_playbook')),
    learning_id                 TEXT NOT NULL,
    epoch                       BIGINT NOT NULL,
    agent_version               TEXT NOT NULL,
    interaction_created_at      BIGINT NOT NULL,
    is_relevant                 BOOLEAN,
    relevance_reason            TEXT NOT NULL,
    impact                      TEXT CHECK (impact IN ('positive', 'negative', 'neutral')),
    impact_reason               TEXT NOT NULL,
    diagnosis                   JSONB,
    evaluated_playbook_digest   TEXT,
    diagnosis_evidence_complete BOOLEAN NOT NULL,
    created_at                  BIGINT NOT NULL,
    judge                       TEXT NOT NULL,
    prompt_version              TEXT NOT NULL,
    rubric_hash                 TEXT NOT NULL,
    input_tokens                BIGINT NOT NULL,
    output_tokens               BIGINT NOT NULL,
    cost_usd                    DOUBLE PRECISION,
    latency_ms                  BIGINT NOT NULL,
    attempts                    BIGINT NOT NULL,
    UNIQUE (org_id, subject, session_id, interaction_id, kind, learning_id)
);
CREATE INDEX learning_verdicts_recent ON learning_verdicts (org_id, interaction_created_at, result_id);

-- What a person says of a session. One row per labeller; a new label replaces their old one.
CREATE TABLE session_labels (
    org_id          TEXT NOT NULL,
    subject         UUID NOT NULL,
    session_id      TEXT NOT NULL,
    evaluation_name TEXT NOT NULL,
    labelled_by     TEXT NOT NULL,
    epoch           BIGINT NOT NULL,
    is_success      BOOLEAN NOT NULL,
    failure_type    TEXT NOT NULL,
    note            TEXT NOT NULL,
    labelled_at     BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, evaluation_name, labelled_by)
);

-- A replay of the judge over a window: the parent job's id, what was asked, and the final counts once it ended.
-- With candidate_version it is a judge diff, whose verdicts are in candidate_verdicts and touch no live number.
CREATE TABLE regenerations (
    job_id             TEXT PRIMARY KEY,
    org_id             TEXT NOT NULL,
    evaluation_name    TEXT NOT NULL,
    candidate_version  TEXT,
    from_ts            BIGINT NOT NULL,
    to_ts              BIGINT NOT NULL,
    seed               TEXT NOT NULL,
    sample_per_stratum BIGINT NOT NULL,
    concurrency_limit  BIGINT NOT NULL,
    max_cost_usd       DOUBLE PRECISION,
    estimated_cost_usd DOUBLE PRECISION,
    total_candidates   BIGINT NOT NULL,
    total              BIGINT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('running', 'completed', 'cancelled', 'error')),
    reason             TEXT,
    started_at         BIGINT NOT NULL,
    finished_at        BIGINT,
    completed          BIGINT,
    failed             BIGINT,
    cost_usd           DOUBLE PRECISION
);
CREATE UNIQUE INDEX regenerations_running ON regenerations (org_id) WHERE status = 'running';
CREATE INDEX regenerations_recent ON regenerations (org_id, started_at);

CREATE TABLE candidate_verdicts (
    org_id         TEXT NOT NULL,
    subject        UUID NOT NULL,
    session_id     TEXT NOT NULL,
    job_id         TEXT NOT NULL,
    epoch          BIGINT NOT NULL,
    live_success   BOOLEAN,
    is_success     BOOLEAN NOT NULL,
    failure_type   TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    judge          TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    rubric_hash    TEXT NOT NULL,
    cost_usd       DOUBLE PRECISION,
    evaluated_at   BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, job_id)
);
CREATE INDEX candidate_verdicts_of ON candidate_verdicts (job_id);
CREATE INDEX sessions_first ON sessions (org_id, first_request_at);
