-- Questions that an agent left for a person who runs it. They belong to the user in whose session they came up.
CREATE TABLE questions (
    org_id        TEXT NOT NULL,
    subject       UUID NOT NULL,
    question_id   TEXT NOT NULL,
    epoch         BIGINT NOT NULL,
    tool_name     TEXT NOT NULL,
    dedup_key     TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('pending', 'resolved', 'superseded', 'cancelled')),
    question_text TEXT NOT NULL,
    args          JSONB NOT NULL,
    tags          JSONB NOT NULL,
    answer_format TEXT,
    result        JSONB,
    superseded_by TEXT,
    created_at    BIGINT NOT NULL,
    resolved_at   BIGINT,
    expires_at    BIGINT NOT NULL,
    valid_until   BIGINT,
    PRIMARY KEY (org_id, subject, question_id)
);
CREATE UNIQUE INDEX questions_by_id ON questions (org_id, question_id);
CREATE INDEX questions_newest ON questions (org_id, created_at);
CREATE INDEX questions_alike ON questions (org_id, subject, tool_name, dedup_key);

-- concurrently
-- Lists over everybody, the newest first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS profiles_newest ON profiles (org_id, last_modified_timestamp);
CREATE INDEX CONCURRENTLY IF NOT EXISTS learning_proposals_newest ON learning_proposals (org_id, created_at);
