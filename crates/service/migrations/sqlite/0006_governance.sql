-- Erasures, exports and the audit chain. None of these tables can be turned back into a person: they hold keyed
-- references, counts and times.

-- When the last erasure of a person began, and how what comes after it is met: refused until they are readmitted,
-- or accepted if it is newer.
ALTER TABLE subjects ADD COLUMN fence_at INTEGER;
ALTER TABLE subjects ADD COLUMN return_policy TEXT NOT NULL DEFAULT 'blocked'
    CHECK (return_policy IN ('blocked', 'fenced', 'readmitted'));

-- One row per (person, request id). sealed_user is what the workers need until the end: the user id, encrypted
-- under a key that is not in the database; gone when the erasure is complete.
CREATE TABLE purge_operations (
    purge_id       TEXT PRIMARY KEY,
    org_id         TEXT NOT NULL,
    subject        BLOB NOT NULL,
    subject_ref    TEXT NOT NULL,
    request_ref    TEXT NOT NULL,
    actor_ref      TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending', 'running', 'failed', 'complete')),
    sealed_user    TEXT,
    epoch          INTEGER NOT NULL,
    job_id         TEXT NOT NULL,
    attempts       INTEGER NOT NULL,
    deleted_counts TEXT NOT NULL,
    error_code     TEXT,
    error_detail   TEXT,
    fence_at       INTEGER NOT NULL,
    physical_at    INTEGER,
    audit_sequence INTEGER,
    audit_hash     TEXT,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    completed_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX purge_operations_pair ON purge_operations (org_id, subject_ref, request_ref);
CREATE INDEX purge_operations_unfinished ON purge_operations (created_at) WHERE status <> 'complete';
CREATE INDEX purge_operations_unscrubbed ON purge_operations (completed_at) WHERE physical_at IS NULL;

CREATE TABLE governance_exports (
    export_id   TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    request_ref TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX governance_exports_pair ON governance_exports (org_id, subject_ref, request_ref);

-- Each row carries the hash of the one before it. Nothing here is ever changed or deleted.
CREATE TABLE audit_events (
    sequence      INTEGER PRIMARY KEY,
    org_id        TEXT NOT NULL,
    operation     TEXT NOT NULL
        CHECK (operation IN ('EXPORT', 'ERASE', 'READMIT', 'KEY_CREATE', 'KEY_REVOKE', 'CONFIG')),
    status        TEXT NOT NULL CHECK (status IN ('ok', 'error')),
    actor_ref     TEXT NOT NULL,
    subject_ref   TEXT,
    request_ref   TEXT,
    counts        TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    previous_hash TEXT NOT NULL,
    hash          TEXT NOT NULL
) STRICT;

-- A source, agent version or judge that an experiment met with the erased alone is not remembered.
CREATE TRIGGER forget_strata AFTER DELETE ON experiment_user_sums
WHEN NOT EXISTS (SELECT 1 FROM subjects s
                  WHERE s.org_id = OLD.org_id AND s.subject = OLD.subject AND s.state = 'active')
BEGIN
    DELETE FROM experiment_strata WHERE org_id = OLD.org_id AND experiment_id = OLD.experiment_id
       AND NOT EXISTS (SELECT 1 FROM evaluation_results r
                        WHERE r.org_id = experiment_strata.org_id AND r.source = experiment_strata.source
                          AND r.is_newest AND r.agent_version = experiment_strata.agent_version
                          AND r.judge = experiment_strata.judge
                          AND r.prompt_version = experiment_strata.prompt_version);
END;
