-- Learnings: profiles, user playbooks, agent playbooks, where agent playbooks come from, full text and vectors.
-- `terms` holds the words of a learning, each behind its scope ("p17xrefund"): the full-text index is made of it,
-- so that one person's words are one range of the index. See docs/decisions/0003-search.md.

-- Numbers that must be known before their rows are written.
CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    next INTEGER NOT NULL
) STRICT;
INSERT INTO sequences (name, next) VALUES ('profiles', 1), ('user_playbooks', 1), ('agent_playbooks', 1), ('scopes', 1);

-- The number that stands for a person in the full-text index. It goes with the person: what an index might still
-- hold of an erased one leads nowhere.
CREATE TABLE learning_scopes (
    org_id  TEXT NOT NULL,
    subject BLOB NOT NULL,
    epoch   INTEGER NOT NULL,
    scope   INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject)
) STRICT;

-- The same for what the organization owns, and how often its vectors have changed.
CREATE TABLE organization_scopes (
    org_id          TEXT PRIMARY KEY,
    scope           INTEGER NOT NULL,
    vectors_version INTEGER NOT NULL
) STRICT;

CREATE TABLE profiles (
    profile_no                INTEGER PRIMARY KEY,
    org_id                    TEXT NOT NULL,
    subject                   BLOB NOT NULL,
    profile_id                TEXT NOT NULL,
    epoch                     INTEGER NOT NULL,
    content                   TEXT NOT NULL,
    last_modified_timestamp   INTEGER NOT NULL,
    generated_from_request_id TEXT NOT NULL,
    profile_time_to_live      TEXT NOT NULL,
    expiration_timestamp      INTEGER NOT NULL,
    custom_features           TEXT,
    source                    TEXT NOT NULL,
    status                    TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags                      TEXT NOT NULL,
    source_interaction_ids    TEXT NOT NULL,
    revision                  INTEGER NOT NULL,
    terms                     TEXT NOT NULL,
    UNIQUE (org_id, subject, profile_no)
) STRICT;
CREATE UNIQUE INDEX profiles_by_id ON profiles (org_id, profile_id);
CREATE INDEX profiles_expiring ON profiles (expiration_timestamp);

CREATE TABLE user_playbooks (
    user_playbook_id          INTEGER PRIMARY KEY,
    org_id                    TEXT NOT NULL,
    subject                   BLOB NOT NULL,
    epoch                     INTEGER NOT NULL,
    agent_version             TEXT NOT NULL,
    request_id                TEXT NOT NULL,
    playbook_name             TEXT NOT NULL,
    created_at                INTEGER NOT NULL,
    content                   TEXT NOT NULL,
    "trigger"                 TEXT NOT NULL,
    rationale                 TEXT NOT NULL,
    source                    TEXT NOT NULL,
    status                    TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags                      TEXT NOT NULL,
    source_interaction_ids    TEXT NOT NULL,
    revision                  INTEGER NOT NULL,
    terms                     TEXT NOT NULL,
    UNIQUE (org_id, subject, user_playbook_id)
) STRICT;
CREATE INDEX user_playbooks_recent ON user_playbooks (org_id, user_playbook_id);

CREATE TABLE agent_playbooks (
    agent_playbook_id         INTEGER PRIMARY KEY,
    org_id                    TEXT NOT NULL,
    playbook_name             TEXT NOT NULL,
    agent_version             TEXT NOT NULL,
    created_at                INTEGER NOT NULL,
    content                   TEXT NOT NULL,
    "trigger"                 TEXT NOT NULL,
    rationale                 TEXT NOT NULL,
    playbook_status           TEXT NOT NULL CHECK (playbook_status IN ('pending', 'approved', 'rejected')),
    playbook_metadata         TEXT NOT NULL,
    status                    TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags                      TEXT NOT NULL,
    revision                  INTEGER NOT NULL,
    terms                     TEXT NOT NULL,
    UNIQUE (org_id, agent_playbook_id)
) STRICT;

-- Source windows: which user playbook, and which of its owner's turns, an agent playbook came from. They are the
-- source user's and go with them; the agent playbook stays.
CREATE TABLE agent_playbook_sources (
    org_id                 TEXT NOT NULL,
    subject                BLOB NOT NULL,
    agent_playbook_id      INTEGER NOT NULL,
    user_playbook_id       INTEGER NOT NULL,
    epoch                  INTEGER NOT NULL,
    source_interaction_ids TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, agent_playbook_id, user_playbook_id),
    FOREIGN KEY (org_id, subject, user_playbook_id)
        REFERENCES user_playbooks (org_id, subject, user_playbook_id) ON DELETE CASCADE,
    FOREIGN KEY (org_id, agent_playbook_id)
        REFERENCES agent_playbooks (org_id, agent_playbook_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX agent_playbook_sources_of ON agent_playbook_sources (org_id, agent_playbook_id);
CREATE INDEX agent_playbook_sources_from ON agent_playbook_sources (org_id, subject, user_playbook_id);

-- Vectors: one per learning, of the text at `revision`, by `model`. A row that is behind is made anew by a job.

CREATE TABLE profile_vectors (
    org_id   TEXT NOT NULL,
    subject  BLOB NOT NULL,
    profile_no INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    model    TEXT NOT NULL,
    vector   BLOB NOT NULL,
    PRIMARY KEY (org_id, subject, profile_no),
    FOREIGN KEY (org_id, subject, profile_no) REFERENCES profiles (org_id, subject, profile_no) ON DELETE CASCADE
) STRICT;

CREATE TABLE user_playbook_vectors (
    org_id   TEXT NOT NULL,
    subject  BLOB NOT NULL,
    user_playbook_id INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    model    TEXT NOT NULL,
    vector   BLOB NOT NULL,
    PRIMARY KEY (org_id, subject, user_playbook_id),
    FOREIGN KEY (org_id, subject, user_playbook_id) REFERENCES user_playbooks (org_id, subject, user_playbook_id) ON DELETE CASCADE
) STRICT;

CREATE TABLE agent_playbook_vectors (
    org_id            TEXT NOT NULL,
    agent_playbook_id INTEGER NOT NULL,
    revision          INTEGER NOT NULL,
    model             TEXT NOT NULL,
    vector            BLOB NOT NULL,
    version           INTEGER NOT NULL,
    PRIMARY KEY (org_id, agent_playbook_id),
    FOREIGN KEY (org_id, agent_playbook_id)
        REFERENCES agent_playbooks (org_id, agent_playbook_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX agent_playbook_vectors_newest ON agent_playbook_vectors (org_id, version);

-- FTS5's own secure-delete option stays off: it corrupts the index. Triggers keep index and rows together, so
-- that no code path can delete one without the other.
CREATE VIRTUAL TABLE profiles_index USING fts5(terms, content='profiles', content_rowid='profile_no', tokenize='ascii');
CREATE TRIGGER profiles_index_insert AFTER INSERT ON profiles BEGIN
    INSERT INTO profiles_index (rowid, terms) VALUES (NEW.profile_no, NEW.terms);
END;
CREATE TRIGGER profiles_index_update AFTER UPDATE OF terms ON profiles WHEN OLD.terms <> NEW.terms BEGIN
    INSERT INTO profiles_index (profiles_index, rowid, terms) VALUES ('delete', OLD.profile_no, OLD.terms);
    INSERT INTO profiles_index (rowid, terms) VALUES (NEW.profile_no, NEW.terms);
END;
CREATE TRIGGER profiles_index_delete AFTER DELETE ON profiles BEGIN
    INSERT INTO profiles_index (profiles_index, rowid, terms) VALUES ('delete', OLD.profile_no, OLD.terms);
END;

CREATE VIRTUAL TABLE user_playbooks_index USING fts5(terms, content='user_playbooks', content_rowid='user_playbook_id', tokenize='ascii');
CREATE TRIGGER user_playbooks_index_insert AFTER INSERT ON user_playbooks BEGIN
    INSERT INTO user_playbooks_index (rowid, terms) VALUES (NEW.user_playbook_id, NEW.terms);
END;
CREATE TRIGGER user_playbooks_index_update AFTER UPDATE OF terms ON user_playbooks WHEN OLD.terms <> NEW.terms BEGIN
    INSERT INTO user_playbooks_index (user_playbooks_index, rowid, terms) VALUES ('delete', OLD.user_playbook_id, OLD.terms);
    INSERT INTO user_playbooks_index (rowid, terms) VALUES (NEW.user_playbook_id, NEW.terms);
END;
CREATE TRIGGER user_playbooks_index_delete AFTER DELETE ON user_playbooks BEGIN
    INSERT INTO user_playbooks_index (user_playbooks_index, rowid, terms) VALUES ('delete', OLD.user_playbook_id, OLD.terms);
END;

CREATE VIRTUAL TABLE agent_playbooks_index USING fts5(terms, content='agent_playbooks', content_rowid='agent_playbook_id', tokenize='ascii');
CREATE TRIGGER agent_playbooks_index_insert AFTER INSERT ON agent_playbooks BEGIN
    INSERT INTO agent_playbooks_index (rowid, terms) VALUES (NEW.agent_playbook_id, NEW.terms);
END;
CREATE TRIGGER agent_playbooks_index_update AFTER UPDATE OF terms ON agent_playbooks WHEN OLD.terms <> NEW.terms BEGIN
    INSERT INTO agent_playbooks_index (agent_playbooks_index, rowid, terms) VALUES ('delete', OLD.agent_playbook_id, OLD.terms);
    INSERT INTO agent_playbooks_index (rowid, terms) VALUES (NEW.agent_playbook_id, NEW.terms);
END;
CREATE TRIGGER agent_playbooks_index_delete AFTER DELETE ON agent_playbooks BEGIN
    INSERT INTO agent_playbooks_index (agent_playbooks_index, rowid, terms) VALUES ('delete', OLD.agent_playbook_id, OLD.terms);
END;
