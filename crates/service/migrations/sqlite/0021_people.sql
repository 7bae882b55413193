-- People who run the installation and signed in with its OpenID Connect provider, as it names them.
CREATE TABLE people (
    person_id         TEXT PRIMARY KEY,
    issuer            TEXT NOT NULL,
    subject           TEXT NOT NULL,
    name              TEXT NOT NULL,
    email             TEXT,
    created_at        INTEGER NOT NULL,
    last_signed_in_at INTEGER NOT NULL,
    UNIQUE (issuer, subject)
) STRICT;

-- Their signed-in browsers, with what the provider said last.
CREATE TABLE person_sessions (
    session_sha256       TEXT PRIMARY KEY,
    person_id            TEXT NOT NULL REFERENCES people (person_id),
    org_id               TEXT NOT NULL,
    organizations        TEXT NOT NULL,
    role                 TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'governance', 'admin')),
    sealed_refresh_token TEXT,
    check_at             INTEGER NOT NULL,
    ends_at              INTEGER NOT NULL,
    latest_end           INTEGER NOT NULL,
    created_at           INTEGER NOT NULL
) STRICT;
CREATE INDEX person_sessions_end ON person_sessions (ends_at);

-- An organization's events and its jobs that gave up, the newest first.
CREATE INDEX audit_events_by_organization ON audit_events (org_id, sequence);
CREATE INDEX jobs_dead ON jobs (org_id, finished_at, job_id) WHERE state = 'dead';
