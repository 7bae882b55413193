-- Organizations, credentials, subjects, sessions and jobs.
-- User-owned tables lead with (org_id, subject) and carry the subject's epoch: see user_tables.rs.

CREATE TABLE installation (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE credentials (
    credential_id TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('agent', 'dashboard', 'governance')),
    governance    INTEGER NOT NULL CHECK (governance IN (0, 1)),
    name          TEXT NOT NULL,
    token_sha256  TEXT NOT NULL UNIQUE,
    created_at    INTEGER NOT NULL,
    revoked_at    INTEGER
) STRICT;
CREATE INDEX credentials_org ON credentials (org_id, created_at);

-- One row per person of an organization, and the only place with their user id, which goes with an erasure. The subject
-- is a keyed hash of both (db/subject.rs), is the key of all their rows, and stays.
CREATE TABLE subjects (
    org_id      TEXT NOT NULL,
    subject     BLOB NOT NULL,
    user_id     TEXT,
    state       TEXT NOT NULL CHECK (state IN ('active', 'erasing', 'erased')),
    epoch       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject)
) STRICT;

CREATE TABLE sessions (
    org_id            TEXT NOT NULL,
    subject           BLOB NOT NULL,
    session_id        TEXT NOT NULL,
    epoch             INTEGER NOT NULL,
    first_request_at  INTEGER NOT NULL,
    first_request_id  TEXT NOT NULL,
    last_request_at   INTEGER NOT NULL,
    last_received_at  INTEGER NOT NULL,
    finished_at       INTEGER,
    source            TEXT NOT NULL,
    agent_version     TEXT NOT NULL,
    request_count     INTEGER NOT NULL,
    interaction_count INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
) STRICT;
CREATE INDEX sessions_recent ON sessions (org_id, last_request_at, subject, session_id);
CREATE INDEX sessions_by_id ON sessions (org_id, session_id);

CREATE TABLE requests (
    org_id                   TEXT NOT NULL,
    subject                  BLOB NOT NULL,
    session_id               TEXT NOT NULL,
    request_id               TEXT NOT NULL,
    epoch                    INTEGER NOT NULL,
    created_at               INTEGER NOT NULL,
    received_at              INTEGER NOT NULL,
    source                   TEXT NOT NULL,
    agent_version            TEXT NOT NULL,
    evaluation_only          INTEGER NOT NULL CHECK (evaluation_only IN (0, 1)),
    retrieval_experiment_id  TEXT,
    retrieval_experiment_arm TEXT CHECK (retrieval_experiment_arm IN ('treatment', 'holdout')),
    content_sha256           TEXT NOT NULL,
    answer                   TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, request_id)
) STRICT;
CREATE UNIQUE INDEX requests_by_id ON requests (org_id, request_id);

CREATE TABLE interactions (
    interaction_id          INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id                  TEXT NOT NULL,
    subject                 BLOB NOT NULL,
    session_id              TEXT NOT NULL,
    epoch                   INTEGER NOT NULL,
    request_id              TEXT NOT NULL,
    created_at              INTEGER NOT NULL,
    role                    TEXT NOT NULL,
    content                 TEXT NOT NULL,
    shadow_content          TEXT NOT NULL,
    expert_content          TEXT NOT NULL,
    user_action             TEXT NOT NULL,
    user_action_description TEXT NOT NULL,
    interacted_image_url    TEXT NOT NULL,
    image_encoding          TEXT NOT NULL,
    tools_used              TEXT NOT NULL,
    citations               TEXT NOT NULL,
    retrieved_learnings     TEXT NOT NULL,
    token_count             INTEGER,
    UNIQUE (org_id, subject, session_id, interaction_id)
) STRICT;

CREATE TABLE session_outcomes (
    org_id      TEXT NOT NULL,
    subject     BLOB NOT NULL,
    session_id  TEXT NOT NULL,
    revision    INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'unknown')),
    occurred_at INTEGER NOT NULL,
    label       TEXT,
    value       REAL,
    metadata    TEXT,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, revision)
) STRICT;

CREATE TABLE jobs (
    job_id       TEXT PRIMARY KEY,
    org_id       TEXT NOT NULL,
    subject      BLOB,
    epoch        INTEGER,
    kind         TEXT NOT NULL,
    parent_id    TEXT,
    payload      TEXT NOT NULL,
    dedupe_key   TEXT,
    state        TEXT NOT NULL CHECK (state IN ('open', 'done', 'dead', 'cancelled')),
    run_at       INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    lease_until  INTEGER,
    lease_token  TEXT,
    moves        INTEGER NOT NULL,
    last_error   TEXT,
    created_at   INTEGER NOT NULL,
    finished_at  INTEGER
) STRICT;
CREATE UNIQUE INDEX jobs_dedupe ON jobs (org_id, kind, dedupe_key) WHERE state = 'open' AND dedupe_key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (run_at, job_id) WHERE state = 'open';
CREATE INDEX jobs_parent ON jobs (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX jobs_user ON jobs (org_id, subject) WHERE subject IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
