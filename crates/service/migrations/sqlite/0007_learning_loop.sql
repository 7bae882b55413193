-- The learning loop: what is extracted from each person's stream, what became of it, what is proposed to people.

-- Whether a request feeds learning, as it was decided when it was published.
ALTER TABLE requests ADD COLUMN learning TEXT NOT NULL DEFAULT 'off'
    CHECK (learning IN ('off', 'on', 'without_aggregation'));
-- How much a job that gathers has gathered.
ALTER TABLE jobs ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;
CREATE INDEX interactions_arrival ON interactions (org_id, subject, interaction_id);
CREATE INDEX learning_verdicts_of ON learning_verdicts (org_id, kind, learning_id);

-- How far a person's turns were read. The next window begins after `cursor`; up to `seen` everything was in one.
CREATE TABLE learning_streams (
    org_id  TEXT NOT NULL,
    subject BLOB NOT NULL,
    epoch   INTEGER NOT NULL,
    cursor  INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    windows INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject)
) STRICT;

CREATE TABLE learning_windows (
    org_id               TEXT NOT NULL,
    subject              BLOB NOT NULL,
    window_no            INTEGER NOT NULL,
    epoch                INTEGER NOT NULL,
    first_interaction_id INTEGER NOT NULL,
    last_interaction_id  INTEGER NOT NULL,
    interaction_count    INTEGER NOT NULL,
    outcome              TEXT NOT NULL CHECK (outcome IN ('extracted', 'passed_over')),
    reason               TEXT NOT NULL,
    extractor            TEXT NOT NULL,
    prompt_version       TEXT NOT NULL,
    rubric_hash          TEXT NOT NULL,
    input_tokens         INTEGER NOT NULL,
    output_tokens        INTEGER NOT NULL,
    cost_usd             REAL,
    flags                TEXT NOT NULL,
    processed_at         INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, window_no)
) STRICT;

-- What was proposed in a window, and what became of it: this is the lineage of a person's learnings.
CREATE TABLE learning_proposals (
    org_id                 TEXT NOT NULL,
    subject                BLOB NOT NULL,
    window_no              INTEGER NOT NULL,
    place                  INTEGER NOT NULL,
    epoch                  INTEGER NOT NULL,
    kind                   TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook')),
    content                TEXT NOT NULL,
    "trigger"              TEXT NOT NULL,
    rationale              TEXT NOT NULL,
    source_interaction_ids TEXT NOT NULL,
    outcome                TEXT NOT NULL CHECK (outcome IN ('added', 'merged', 'superseded', 'refused')),
    reason                 TEXT NOT NULL,
    learning_id            TEXT,
    replaced_id            TEXT,
    created_at             INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, window_no, place)
) STRICT;
CREATE INDEX learning_windows_recent ON learning_windows (processed_at);
CREATE INDEX learning_proposals_of ON learning_proposals (org_id, kind, learning_id);

-- What people decided about an agent playbook. The organization's own.
CREATE TABLE agent_playbook_decisions (
    org_id            TEXT NOT NULL,
    agent_playbook_id INTEGER NOT NULL,
    decision_id       TEXT NOT NULL,
    decision          TEXT NOT NULL CHECK (decision IN ('proposed', 'approved', 'rejected', 'pending', 'edited', 'archived')),
    actor             TEXT NOT NULL,
    decided_at        INTEGER NOT NULL,
    PRIMARY KEY (org_id, agent_playbook_id, decision_id),
    FOREIGN KEY (org_id, agent_playbook_id)
        REFERENCES agent_playbooks (org_id, agent_playbook_id) ON DELETE CASCADE
) STRICT;

-- Ideas that people rejected, as the words of the (impersonal) agent playbook they rejected.
CREATE TABLE rejected_ideas (
    org_id            TEXT NOT NULL,
    agent_version     TEXT NOT NULL,
    agent_playbook_id INTEGER NOT NULL,
    fingerprint       TEXT NOT NULL,
    terms             TEXT NOT NULL,
    rejected_at       INTEGER NOT NULL,
    PRIMARY KEY (org_id, agent_version, agent_playbook_id)
) STRICT;

-- A learning that hurts, and what is proposed to do about it. Without a user it is about an agent playbook.
CREATE TABLE tuning_proposals (
    proposal_id    TEXT PRIMARY KEY,
    org_id         TEXT NOT NULL,
    subject        BLOB,
    epoch          INTEGER,
    kind           TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook', 'agent_playbook')),
    learning_id    TEXT NOT NULL,
    digest         TEXT NOT NULL,
    action         TEXT NOT NULL CHECK (action IN ('archive', 'edit')),
    content        TEXT NOT NULL,
    "trigger"      TEXT NOT NULL,
    rationale      TEXT NOT NULL,
    drafted_by     TEXT NOT NULL,
    judged         INTEGER NOT NULL,
    impact         REAL NOT NULL,
    impact_upper   REAL NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'declined')),
    created_at     INTEGER NOT NULL,
    decided_at     INTEGER,
    UNIQUE (org_id, kind, learning_id, digest)
) STRICT;
CREATE INDEX tuning_proposals_user ON tuning_proposals (org_id, subject) WHERE subject IS NOT NULL;

-- The sessions a tuning proposal rests on. They are their user's.
CREATE TABLE tuning_evidence (
    org_id          TEXT NOT NULL,
    subject         BLOB NOT NULL,
    proposal_id     TEXT NOT NULL,
    session_id      TEXT NOT NULL,
    interaction_id  INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    category        TEXT NOT NULL,
    reason          TEXT NOT NULL,
    interaction_ids TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, proposal_id, session_id, interaction_id),
    FOREIGN KEY (proposal_id) REFERENCES tuning_proposals (proposal_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX tuning_evidence_of ON tuning_evidence (proposal_id);

-- What a model drafted for everybody from somebody's sessions goes when one of these does.
CREATE TRIGGER forget_drafts AFTER DELETE ON tuning_evidence BEGIN
    UPDATE tuning_proposals
       SET content = '', "trigger" = '', rationale = 'What it was drafted from is gone.', drafted_by = 'rules',
           action = CASE WHEN status = 'open' THEN 'archive' ELSE action END
     WHERE proposal_id = OLD.proposal_id AND subject IS NULL AND action = 'edit';
END;

-- Decisions about agent playbooks are audited too.
CREATE TABLE audit_events_with_playbooks (
    sequence      INTEGER PRIMARY KEY,
    org_id        TEXT NOT NULL,
    operation     TEXT NOT NULL
        CHECK (operation IN ('EXPORT', 'ERASE', 'READMIT', 'KEY_CREATE', 'KEY_REVOKE', 'CONFIG', 'PLAYBOOK')),
    status        TEXT NOT NULL CHECK (status IN ('ok', 'error')),
    actor_ref     TEXT NOT NULL,
    subject_ref   TEXT,
    request_ref   TEXT,
    counts        TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    previous_hash TEXT NOT NULL,
    hash          TEXT NOT NULL
) STRICT;
INSERT INTO audit_events_with_playbooks SELECT * FROM audit_events;
DROP TABLE audit_events;
ALTER TABLE audit_events_with_playbooks RENAME TO audit_events;
