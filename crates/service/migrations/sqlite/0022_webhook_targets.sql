-- A webhook may be a person's e-mail address, and the address of a chat is sealed: `url` is then the part that is shown.
CREATE TABLE webhooks_of_all_formats (
    org_id        TEXT NOT NULL,
    webhook_id    TEXT NOT NULL,
    url           TEXT NOT NULL,
    format        TEXT NOT NULL CHECK (format IN ('standard', 'slack', 'email')),
    description   TEXT NOT NULL,
    events        TEXT NOT NULL,
    enabled       INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    key_id        TEXT NOT NULL,
    failures      INTEGER NOT NULL,
    failing_until INTEGER,
    created_at    INTEGER NOT NULL,
    sealed_url    TEXT,
    PRIMARY KEY (org_id, webhook_id)
) STRICT;
INSERT INTO webhooks_of_all_formats
    (org_id, webhook_id, url, format, description, events, enabled, key_id, failures, failing_until, created_at)
SELECT org_id, webhook_id, url, format, description, events, enabled, key_id, failures, failing_until, created_at
FROM webhooks;
DROP TABLE webhooks;
ALTER TABLE webhooks_of_all_formats RENAME TO webhooks;
