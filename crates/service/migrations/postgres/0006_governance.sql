-- Erasures, exports and the audit chain. None of these tables can be turned back into a person: they hold keyed
-- references, counts and times.

-- When the last erasure of a person began, and how what comes after it is met: refused until they are readmitted,
-- or accepted if it is newer.
ALTER TABLE subjects ADD COLUMN fence_at BIGINT;
ALTER TABLE subjects ADD COLUMN return_policy TEXT NOT NULL DEFAULT 'blocked'
    CHECK (return_policy IN ('blocked', 'fenced', 'readmitted'));

-- One row per (person, request id). sealed_user is what the workers need until the end: the user id, encrypted
-- under a key that is not in the database; gone when the erasure is complete.
CREATE TABLE purge_operations (
    purge_id       TEXT PRIMARY KEY,
    org_id         TEXT NOT NULL,
    subject        UUID NOT NULL,
    subject_ref    TEXT NOT NULL,
    request_ref    TEXT NOT NULL,
    actor_ref      TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending', 'running', 'failed', 'complete')),
    sealed_user    TEXT,
    epoch          BIGINT NOT NULL,
    job_id         TEXT NOT NULL,
    attempts       BIGINT NOT NULL,
    deleted_counts JSONB NOT NULL,
    error_code     TEXT,
    error_detail   TEXT,
    fence_at       BIGINT NOT NULL,
    physical_at    BIGINT,
    audit_sequence BIGINT,
    audit_hash     TEXT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    completed_at   BIGINT
);
CREATE UNIQUE INDEX purge_operations_pair ON purge_operations (org_id, subject_ref, request_ref);
CREATE INDEX purge_operations_unfinished ON purge_operations (created_at) WHERE status <> 'complete';
CREATE INDEX purge_operations_unscrubbed ON purge_operations (completed_at) WHERE physical_at IS NULL;

CREATE TABLE governance_exports (
    export_id   TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    request_ref TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX governance_exports_pair ON governance_exports (org_id, subject_ref, request_ref);

-- Each row carries the hash of the one before it. Nothing here is ever changed or deleted.
CREATE TABLE audit_events (
    sequence      BIGINT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    operation     TEXT NOT NULL
        CHECK (operation IN ('EXPORT', 'ERASE', 'READMIT', 'KEY_CREATE', 'KEY_REVOKE', 'CONFIG')),
    status        TEXT NOT NULL CHECK (status IN ('ok', 'error')),
    actor_ref     TEXT NOT NULL,
    subject_ref   TEXT,
    request_ref   TEXT,
    counts        JSONB NOT NULL,
    created_at    BIGINT NOT NULL,
    previous_hash TEXT NOT NULL,
    hash          TEXT NOT NULL
);

-- A source, agent version or judge that an experiment met with the erased alone is not remembered.
CREATE FUNCTION forget_strata() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM subjects s
                    WHERE s.org_id = OLD.org_id AND s.subject = OLD.subject AND s.state = 'active') THEN
        DELETE FROM experiment_strata e WHERE e.org_id = OLD.org_id AND e.experiment_id = OLD.experiment_id
           AND NOT EXISTS (SELECT 1 FROM evaluation_results r
                            WHERE r.org_id = e.org_id AND r.source = e.source AND r.is_newest
                              AND r.agent_version = e.agent_version AND r.judge = e.judge
                              AND r.prompt_version = e.prompt_version);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_strata AFTER DELETE ON experiment_user_sums FOR EACH ROW EXECUTE FUNCTION forget_strata();
