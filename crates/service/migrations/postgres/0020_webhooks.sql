-- Events that are sent to other programs, and rules that watch a metric.

-- A receiver. Its signing secret is made of the governance key `key_id` and stored nowhere. While it fails, nothing is
-- sent to it before `failing_until`.
CREATE TABLE webhooks (
    org_id        TEXT NOT NULL,
    webhook_id    TEXT NOT NULL,
    url           TEXT NOT NULL,
    format        TEXT NOT NULL CHECK (format IN ('standard', 'slack')),
    description   TEXT NOT NULL,
    events        JSONB NOT NULL,
    enabled       BOOLEAN NOT NULL,
    key_id        TEXT NOT NULL,
    failures      BIGINT NOT NULL,
    failing_until BIGINT,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (org_id, webhook_id)
);

-- One event to one receiver, and what became of it. One that is about somebody's session is theirs.
CREATE TABLE webhook_deliveries (
    org_id          TEXT NOT NULL,
    subject         UUID,
    epoch           BIGINT,
    delivery_id     TEXT NOT NULL,
    webhook_id      TEXT NOT NULL,
    event           TEXT NOT NULL,
    body            TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts        BIGINT NOT NULL,
    status_code     BIGINT,
    error           TEXT,
    created_at      BIGINT NOT NULL,
    last_attempt_at BIGINT,
    next_attempt_at BIGINT,
    PRIMARY KEY (org_id, delivery_id)
);
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (org_id, webhook_id, created_at, delivery_id);
CREATE INDEX webhook_deliveries_user ON webhook_deliveries (org_id, subject) WHERE subject IS NOT NULL;

-- News that are told once, whoever notices them.
CREATE TABLE webhook_news (
    org_id   TEXT NOT NULL,
    event    TEXT NOT NULL,
    news_key TEXT NOT NULL,
    told_at  BIGINT NOT NULL,
    PRIMARY KEY (org_id, event, news_key)
);

-- A metric that is compared with the four weeks before, and how it stood at the last look. Either `armed_from` is set,
-- or both others.
CREATE TABLE alert_rules (
    org_id          TEXT NOT NULL,
    rule_id         TEXT NOT NULL,
    name            TEXT NOT NULL,
    metric          TEXT NOT NULL,
    source          TEXT,
    agent_version   TEXT,
    smallest_change DOUBLE PRECISION NOT NULL,
    enabled         BOOLEAN NOT NULL,
    created_at      BIGINT NOT NULL,
    state           TEXT NOT NULL,
    reason          TEXT,
    looked_until    BIGINT NOT NULL,
    evidence        DOUBLE PRECISION NOT NULL,
    armed_from      BIGINT,
    worse_since     BIGINT,
    noticed_at      BIGINT,
    PRIMARY KEY (org_id, rule_id)
);

-- An episode of a rule: from the look that raised the alert to the one that cleared it.
CREATE TABLE alert_episodes (
    org_id         TEXT NOT NULL,
    rule_id        TEXT NOT NULL,
    raised_at      BIGINT NOT NULL,
    worse_since    BIGINT NOT NULL,
    cleared_at     BIGINT,
    cleared_as     TEXT,
    mean_before    DOUBLE PRECISION NOT NULL,
    mean_since     DOUBLE PRECISION NOT NULL,
    difference     DOUBLE PRECISION NOT NULL,
    ci_lower       DOUBLE PRECISION NOT NULL,
    ci_upper       DOUBLE PRECISION NOT NULL,
    sessions       DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (org_id, rule_id, raised_at)
);
