-- Learnings: profiles, user playbooks, agent playbooks, where agent playbooks come from, full text and vectors.
-- `terms` holds the words of a learning, each behind its scope ("p17xrefund"): the full-text index is made of it,
-- so that one person's words are one range of the index. See docs/decisions/0003-search.md.

CREATE SEQUENCE profiles_number;
CREATE SEQUENCE user_playbooks_number;
CREATE SEQUENCE agent_playbooks_number;
CREATE SEQUENCE scopes_number;

-- The number that stands for a person in the full-text index. It goes with the person: what an index might still
-- hold of an erased one leads nowhere.
CREATE TABLE learning_scopes (
    org_id  TEXT NOT NULL,
    subject UUID NOT NULL,
    epoch   BIGINT NOT NULL,
    scope   BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject)
);

-- The same for what the organization owns, and how often its vectors have changed.
CREATE TABLE organization_scopes (
    org_id          TEXT PRIMARY KEY,
    scope           BIGINT NOT NULL,
    vectors_version BIGINT NOT NULL
);

CREATE TABLE profiles (
    profile_no                BIGINT NOT NULL,
    org_id                    TEXT NOT NULL,
    subject                   UUID NOT NULL,
    profile_id                TEXT NOT NULL,
    epoch                     BIGINT NOT NULL,
    content                   TEXT NOT NULL,
    last_modified_timestamp   BIGINT NOT NULL,
    generated_from_request_id TEXT NOT NULL,
    profile_time_to_live      TEXT NOT NULL,
    expiration_timestamp      BIGINT NOT NULL,
    custom_features           JSONB,
    source                    TEXT NOT NULL,
    status                    TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags                      JSONB NOT NULL,
    source_interaction_ids    JSONB NOT NULL,
    revision                  BIGINT NOT NULL,
    terms                     TEXT NOT NULL,
    document tsvector NOT NULL GENERATED ALWAYS AS (array_to_tsvector(string_to_array(terms, ' '))) STORED,
    PRIMARY KEY (org_id, subject, profile_no)
);
CREATE UNIQUE INDEX profiles_by_id ON profiles (org_id, profile_id);
CREATE INDEX profiles_expiring ON profiles (expiration_timestamp);

CREATE TABLE user_playbooks (
    user_playbook_id          BIGINT NOT NULL,
    org_id                    TEXT NOT NULL,
    subject                   UUID NOT NULL,
    epoch                     BIGINT NOT NULL,
    agent_version             TEXT NOT NULL,
    request_id                TEXT NOT NULL,
    playbook_name             TEXT NOT NULL,
    created_at                BIGINT NOT NULL,
    content                   TEXT NOT NULL,
    "trigger"                 TEXT NOT NULL,
    rationale                 TEXT NOT NULL,
    source                    TEXT NOT NULL,
    status                    TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags                      JSONB NOT NULL,
    source_interaction_ids    JSONB NOT NULL,
    revision                  BIGINT NOT NULL,
    terms                     TEXT NOT NULL,
    document tsvector NOT NULL GENERATED ALWAYS AS (array_to_tsvector(string_to_array(terms, ' '))) STORED,
    PRIMARY KEY (org_id, subject, user_playbook_id)
);
CREATE UNIQUE INDEX user_playbooks_recent ON user_playbooks (org_id, user_playbook_id);

CREATE TABLE agent_playbooks (
    agent_playbook_id         BIGINT NOT NULL,
    org_id                    TEXT NOT NULL,
    playbook_name             TEXT NOT NULL,
    agent_version             TEXT NOT NULL,
    created_at                BIGINT NOT NULL,
    content                   TEXT NOT NULL,
    "trigger"                 TEXT NOT NULL,
    rationale                 TEXT NOT NULL,
    playbook_status           TEXT NOT NULL CHECK (playbook_status IN ('pending', 'approved', 'rejected')),
    playbook_metadata         JSONB NOT NULL,
    status                    TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags                      JSONB NOT NULL,
    revision                  BIGINT NOT NULL,
    terms                     TEXT NOT NULL,
    document tsvector NOT NULL GENERATED ALWAYS AS (array_to_tsvector(string_to_array(terms, ' '))) STORED,
    PRIMARY KEY (org_id, agent_playbook_id)
);

-- Source windows: which user playbook, and which of its owner's turns, an agent playbook came from. They are the
-- source user's and go with them; the agent playbook stays.
CREATE TABLE agent_playbook_sources (
    org_id                 TEXT NOT NULL,
    subject                UUID NOT NULL,
    agent_playbook_id      BIGINT NOT NULL,
    user_playbook_id       BIGINT NOT NULL,
    epoch                  BIGINT NOT NULL,
    source_interaction_ids JSONB NOT NULL,
    PRIMARY KEY (org_id, subject, agent_playbook_id, user_playbook_id),
    FOREIGN KEY (org_id, subject, user_playbook_id)
        REFERENCES user_playbooks (org_id, subject, user_playbook_id) ON DELETE CASCADE,
    FOREIGN KEY (org_id, agent_playbook_id)
        REFERENCES agent_playbooks (org_id, agent_playbook_id) ON DELETE CASCADE
);
CREATE INDEX agent_playbook_sources_of ON agent_playbook_sources (org_id, agent_playbook_id);
CREATE INDEX agent_playbook_sources_from ON agent_playbook_sources (org_id, subject, user_playbook_id);

-- Vectors: one per learning, of the text at `revision`, by `model`. A row that is behind is made anew by a job.

CREATE TABLE profile_vectors (
    org_id   TEXT NOT NULL,
    subject  UUID NOT NULL,
    profile_no BIGINT NOT NULL,
    epoch    BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    model    TEXT NOT NULL,
    vector   BYTEA NOT NULL,
    PRIMARY KEY (org_id, subject, profile_no),
    FOREIGN KEY (org_id, subject, profile_no) REFERENCES profiles (org_id, subject, profile_no) ON DELETE CASCADE
);

CREATE TABLE user_playbook_vectors (
    org_id   TEXT NOT NULL,
    subject  UUID NOT NULL,
    user_playbook_id BIGINT NOT NULL,
    epoch    BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    model    TEXT NOT NULL,
    vector   BYTEA NOT NULL,
    PRIMARY KEY (org_id, subject, user_playbook_id),
    FOREIGN KEY (org_id, subject, user_playbook_id) REFERENCES user_playbooks (org_id, subject, user_playbook_id) ON DELETE CASCADE
);

CREATE TABLE agent_playbook_vectors (
    org_id            TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    revision          BIGINT NOT NULL,
    model             TEXT NOT NULL,
    vector            BYTEA NOT NULL,
    version           BIGINT NOT NULL,
    PRIMARY KEY (org_id, agent_playbook_id),
    FOREIGN KEY (org_id, agent_playbook_id)
        REFERENCES agent_playbooks (org_id, agent_playbook_id) ON DELETE CASCADE
);
CREATE INDEX agent_playbook_vectors_newest ON agent_playbook_vectors (org_id, version);

-- Without the pending list, so that a search never reads through what others just wrote.
CREATE INDEX profiles_index ON profiles USING gin (document) WITH (fastupdate = off);
CREATE INDEX user_playbooks_index ON user_playbooks USING gin (document) WITH (fastupdate = off);
CREATE INDEX agent_playbooks_index ON agent_playbooks USING gin (document) WITH (fastupdate = off);
