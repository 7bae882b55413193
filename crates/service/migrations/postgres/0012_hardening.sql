-- Deletes, refused governance calls and restored databases are audited too; the chain of before is sealed once.
ALTER TABLE audit_events DROP CONSTRAINT audit_events_operation_check;
ALTER TABLE audit_events ADD CONSTRAINT audit_events_operation_check
    CHECK (operation IN ('EXPORT', 'ERASE', 'READMIT', 'KEY_CREATE', 'KEY_REVOKE', 'CONFIG', 'PLAYBOOK',
                         'DELETE', 'REFUSED', 'SEALED', 'RESTORED'));

-- More roles, agent keys without reads, an end, and the time of the last use (to the hour).
ALTER TABLE credentials DROP CONSTRAINT credentials_role_check;
ALTER TABLE credentials ADD CONSTRAINT credentials_role_check
    CHECK (role IN ('agent', 'publish', 'dashboard', 'auditor', 'governance'));
ALTER TABLE credentials ADD COLUMN reads BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE credentials ADD COLUMN expires_at BIGINT;
ALTER TABLE credentials ADD COLUMN last_used_at BIGINT;

-- Browsers that are signed in, by the digest of what their cookie says. A row that is gone signs its browser out.
CREATE TABLE browser_sessions (
    session_sha256 TEXT PRIMARY KEY,
    credential_id  TEXT NOT NULL,
    token_sha256   TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    ends_at        BIGINT NOT NULL
);
CREATE INDEX browser_sessions_end ON browser_sessions (ends_at);
