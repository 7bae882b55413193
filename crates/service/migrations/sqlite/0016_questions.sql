-- Questions that an agent left for a person who runs it. They belong to the user in whose session they came up.
CREATE TABLE questions (
    org_id        TEXT NOT NULL,
    subject       BLOB NOT NULL,
    question_id   TEXT NOT NULL,
    epoch         INTEGER NOT NULL,
    tool_name     TEXT NOT NULL,
    dedup_key     TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('pending', 'resolved', 'superseded', 'cancelled')),
    question_text TEXT NOT NULL,
    args          TEXT NOT NULL,
    tags          TEXT NOT NULL,
    answer_format TEXT,
    result        TEXT,
    superseded_by TEXT,
    created_at    INTEGER NOT NULL,
    resolved_at   INTEGER,
    expires_at    INTEGER NOT NULL,
    valid_until   INTEGER,
    PRIMARY KEY (org_id, subject, question_id)
) STRICT;
CREATE UNIQUE INDEX questions_by_id ON questions (org_id, question_id);
CREATE INDEX questions_newest ON questions (org_id, created_at);
CREATE INDEX questions_alike ON questions (org_id, subject, tool_name, dedup_key);

-- Lists over everybody, the newest first.
CREATE INDEX profiles_newest ON profiles (org_id, last_modified_timestamp);
CREATE INDEX learning_proposals_newest ON learning_proposals (org_id, created_at);
