-- Deletes, refused governance calls and restored databases are audited too; the chain of before is sealed once.
CREATE TABLE audit_events_of_all_kinds (
    sequence      INTEGER PRIMARY KEY,
    org_id        TEXT NOT NULL,
    operation     TEXT NOT NULL
        CHECK (operation IN ('EXPORT', 'ERASE', 'READMIT', 'KEY_CREATE', 'KEY_REVOKE', 'CONFIG', 'PLAYBOOK',
                             'DELETE', 'REFUSED', 'SEALED', 'RESTORED')),
    status        TEXT NOT NULL CHECK (status IN ('ok', 'error')),
    actor_ref     TEXT NOT NULL,
    subject_ref   TEXT,
    request_ref   TEXT,
    counts        TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    previous_hash TEXT NOT NULL,
    hash          TEXT NOT NULL
) STRICT;
INSERT INTO audit_events_of_all_kinds SELECT * FROM audit_events;
DROP TABLE audit_events;
ALTER TABLE audit_events_of_all_kinds RENAME TO audit_events;

-- More roles, agent keys without reads, an end, and the time of the last use (to the hour).
CREATE TABLE credentials_of_all_roles (
    credential_id TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('agent', 'publish', 'dashboard', 'auditor', 'governance')),
    governance    INTEGER NOT NULL CHECK (governance IN (0, 1)),
    reads         INTEGER NOT NULL CHECK (reads IN (0, 1)),
    name          TEXT NOT NULL,
    token_sha256  TEXT NOT NULL UNIQUE,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER,
    last_used_at  INTEGER,
    revoked_at    INTEGER
) STRICT;
INSERT INTO credentials_of_all_roles
    (credential_id, org_id, role, governance, reads, name, token_sha256, created_at, revoked_at)
SELECT credential_id, org_id, role, governance, 1, name, token_sha256, created_at, revoked_at FROM credentials;
DROP TABLE credentials;
ALTER TABLE credentials_of_all_roles RENAME TO credentials;
CREATE INDEX credentials_org ON credentials (org_id, created_at);

-- Browsers that are signed in, by the digest of what their cookie says. A row that is gone signs its browser out.
CREATE TABLE browser_sessions (
    session_sha256 TEXT PRIMARY KEY,
    credential_id  TEXT NOT NULL,
    token_sha256   TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    ends_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX browser_sessions_end ON browser_sessions (ends_at);
