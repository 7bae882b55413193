-- The learning loop: what is extracted from each person's stream, what became of it, what is proposed to people.

-- Whether a request feeds learning, as it was decided when it was published.
ALTER TABLE requests ADD COLUMN learning TEXT NOT NULL DEFAULT 'off'
    CHECK (learning IN ('off', 'on', 'without_aggregation'));
-- How much a job that gathers has gathered.
ALTER TABLE jobs ADD COLUMN weight BIGINT NOT NULL DEFAULT 0;
CREATE INDEX interactions_arrival ON interactions (org_id, subject, interaction_id);
CREATE INDEX learning_verdicts_of ON learning_verdicts (org_id, kind, learning_id);

-- How far a person's turns were read. The next window begins after `cursor`; up to `seen` everything was in one.
CREATE TABLE learning_streams (
    org_id  TEXT NOT NULL,
    subject UUID NOT NULL,
    epoch   BIGINT NOT NULL,
    cursor  BIGINT NOT NULL,
    seen    BIGINT NOT NULL,
    windows BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject)
);

CREATE TABLE learning_windows (
    org_id               TEXT NOT NULL,
    subject              UUID NOT NULL,
    window_no            BIGINT NOT NULL,
    epoch                BIGINT NOT NULL,
    first_interaction_id BIGINT NOT NULL,
    last_interaction_id  BIGINT NOT NULL,
    interaction_count    BIGINT NOT NULL,
    outcome              TEXT NOT NULL CHECK (outcome IN ('extracted', 'passed_over')),
    reason               TEXT NOT NULL,
    extractor            TEXT NOT NULL,
    prompt_version       TEXT NOT NULL,
    rubric_hash          TEXT NOT NULL,
    input_tokens         BIGINT NOT NULL,
    output_tokens        BIGINT NOT NULL,
    cost_usd             DOUBLE PRECISION,
    flags                JSONB NOT NULL,
    processed_at         BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, window_no)
);

-- What was proposed in a window, and what became of it: this is the lineage of a person's learnings.
CREATE TABLE learning_proposals (
    org_id                 TEXT NOT NULL,
    subject                UUID NOT NULL,
    window_no              BIGINT NOT NULL,
    place                  BIGINT NOT NULL,
    epoch                  BIGINT NOT NULL,
    kind                   TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook')),
    content                TEXT NOT NULL,
    "trigger"              TEXT NOT NULL,
    rationale              TEXT NOT NULL,
    source_interaction_ids JSONB NOT NULL,
    outcome                TEXT NOT NULL CHECK (outcome IN ('added', 'merged', 'superseded', 'refused')),
    reason                 TEXT NOT NULL,
    learning_id            TEXT,
    replaced_id            TEXT,
    created_at             BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, window_no, place)
);
CREATE INDEX learning_windows_recent ON learning_windows (processed_at);
CREATE INDEX learning_proposals_of ON learning_proposals (org_id, kind, learning_id);

-- What people decided about an agent playbook. The organization's own.
CREATE TABLE agent_playbook_decisions (
    org_id            TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    decision_id       TEXT NOT NULL,
    decision          TEXT NOT NULL CHECK (decision IN ('proposed', 'approved', 'rejected', 'pending', 'edited', 'archived')),
    actor             TEXT NOT NULL,
    decided_at        BIGINT NOT NULL,
    PRIMARY KEY (org_id, agent_playbook_id, decision_id),
    FOREIGN KEY (org_id, agent_playbook_id)
        REFERENCES agent_playbooks (org_id, agent_playbook_id) ON DELETE CASCADE
);

-- Ideas that people rejected, as the words of the (impersonal) agent playbook they rejected.
CREATE TABLE rejected_ideas (
    org_id            TEXT NOT NULL,
    agent_version     TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    fingerprint       TEXT NOT NULL,
    terms             JSONB NOT NULL,
    rejected_at       BIGINT NOT NULL,
    PRIMARY KEY (org_id, agent_version, agent_playbook_id)
);

-- A learning that hurts, and what is proposed to do about it. Without a user it is about an agent playbook.
CREATE TABLE tuning_proposals (
    proposal_id    TEXT PRIMARY KEY,
    org_id         TEXT NOT NULL,
    subject        UUID,
    epoch          BIGINT,
    kind           TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook', 'agent_playbook')),
    learning_id    TEXT NOT NULL,
    digest         TEXT NOT NULL,
    action         TEXT NOT NULL CHECK (action IN ('archive', 'edit')),
    content        TEXT NOT NULL,
    "trigger"      TEXT NOT NULL,
    rationale      TEXT NOT NULL,
    drafted_by     TEXT NOT NULL,
    judged         BIGINT NOT NULL,
    impact         DOUBLE PRECISION NOT NULL,
    impact_upper   DOUBLE PRECISION NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'declined')),
    created_at     BIGINT NOT NULL,
    decided_at     BIGINT,
    UNIQUE (org_id, kind, learning_id, digest)
);
CREATE INDEX tuning_proposals_user ON tuning_proposals (org_id, subject) WHERE subject IS NOT NULL;

-- The sessions a tuning proposal rests on. They are their user's.
CREATE TABLE tuning_evidence (
    org_id          TEXT NOT NULL,
    subject         UUID NOT NULL,
    proposal_id     TEXT NOT NULL,
    session_id      TEXT NOT NULL,
    interaction_id  BIGINT NOT NULL,
    epoch           BIGINT NOT NULL,
    category        TEXT NOT NULL,
    reason          TEXT NOT NULL,
    interaction_ids JSONB NOT NULL,
    PRIMARY KEY (org_id, subject, proposal_id, session_id, interaction_id),
    FOREIGN KEY (proposal_id) REFERENCES tuning_proposals (proposal_id) ON DELETE CASCADE
);
CREATE INDEX tuning_evidence_of ON tuning_evidence (proposal_id);

-- What a model drafted for everybody from somebody's sessions goes when one of these does.
CREATE FUNCTION forget_drafts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tuning_proposals
       SET content = '', "trigger" = '', rationale = 'What it was drafted from is gone.', drafted_by = 'rules',
           action = CASE WHEN status = 'open' THEN 'archive' ELSE action END
     WHERE proposal_id = OLD.proposal_id AND subject IS NULL AND action = 'edit';
    RETURN NULL;
END $$;
CREATE TRIGGER forget_drafts AFTER DELETE ON tuning_evidence FOR EACH ROW EXECUTE FUNCTION forget_drafts();

-- Decisions about agent playbooks are audited too.
ALTER TABLE audit_events DROP CONSTRAINT audit_events_operation_check;
ALTER TABLE audit_events ADD CONSTRAINT audit_events_operation_check
    CHECK (operation IN ('EXPORT', 'ERASE', 'READMIT', 'KEY_CREATE', 'KEY_REVOKE', 'CONFIG', 'PLAYBOOK'));
