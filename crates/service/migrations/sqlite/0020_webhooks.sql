-- Events that are sent to other programs, and rules that watch a metric.

-- A receiver. Its signing secret is made of the governance key `key_id` and stored nowhere. While it fails, nothing is
-- sent to it before `failing_until`.
CREATE TABLE webhooks (
    org_id        TEXT NOT NULL,
    webhook_id    TEXT NOT NULL,
    url           TEXT NOT NULL,
    format        TEXT NOT NULL CHECK (format IN ('standard', 'slack')),
    description   TEXT NOT NULL,
    events        TEXT NOT NULL,
    enabled       INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    key_id        TEXT NOT NULL,
    failures      INTEGER NOT NULL,
    failing_until INTEGER,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (org_id, webhook_id)
) STRICT;

-- One event to one receiver, and what became of it. One that is about somebody's session is theirs.
CREATE TABLE webhook_deliveries (
    org_id          TEXT NOT NULL,
    subject         BLOB,
    epoch           INTEGER,
    delivery_id     TEXT NOT NULL,
    webhook_id      TEXT NOT NULL,
    event           TEXT NOT NULL,
    body            TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts        INTEGER NOT NULL,
    status_code     INTEGER,
    error           TEXT,
    created_at      INTEGER NOT NULL,
    last_attempt_at INTEGER,
    next_attempt_at INTEGER,
    PRIMARY KEY (org_id, delivery_id)
) STRICT;
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (org_id, webhook_id, created_at, delivery_id);
CREATE INDEX webhook_deliveries_user ON webhook_deliveries (org_id, subject) WHERE subject IS NOT NULL;

-- News that are told once, whoever notices them.
CREATE TABLE webhook_news (
    org_id   TEXT NOT NULL,
    event    TEXT NOT NULL,
    news_key TEXT NOT NULL,
    told_at  INTEGER NOT NULL,
    PRIMARY KEY (org_id, event, news_key)
) STRICT;

-- A metric that is compared with the four weeks before, and how it stood at the last look. Either `armed_from` is set,
-- or both others.
CREATE TABLE alert_rules (
    org_id          TEXT NOT NULL,
    rule_id         TEXT NOT NULL,
    name            TEXT NOT NULL,
    metric          TEXT NOT NULL,
    source          TEXT,
    agent_version   TEXT,
    smallest_change REAL NOT NULL,
    enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    created_at      INTEGER NOT NULL,
    state           TEXT NOT NULL,
    reason          TEXT,
    looked_until    INTEGER NOT NULL,
    evidence        REAL NOT NULL,
    armed_from      INTEGER,
    worse_since     INTEGER,
    noticed_at      INTEGER,
    PRIMARY KEY (org_id, rule_id)
) STRICT;

-- An episode of a rule: from the look that raised the alert to the one that cleared it.
CREATE TABLE alert_episodes (
    org_id         TEXT NOT NULL,
    rule_id        TEXT NOT NULL,
    raised_at      INTEGER NOT NULL,
    worse_since    INTEGER NOT NULL,
    cleared_at     INTEGER,
    cleared_as     TEXT,
    mean_before    REAL NOT NULL,
    mean_since     REAL NOT NULL,
    difference     REAL NOT NULL,
    ci_lower       REAL NOT NULL,
    ci_upper       REAL NOT NULL,
    sessions       REAL NOT NULL,
    PRIMARY KEY (org_id, rule_id, raised_at)
) STRICT;
