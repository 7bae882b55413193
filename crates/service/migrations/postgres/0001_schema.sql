-- The schema. Times are unix seconds; JSON is JSONB here and TEXT on SQLite.
-- User-owned tables lead with (org_id, subject) and carry the subject's epoch: see user_tables.rs. The triggers of the
-- wall and of the overview's sums are made by the program when it starts.

-- ===== Installation and credentials =====

-- Facts about this installation, such as check values of the governance keys.
CREATE TABLE installation (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Parts of the schema that programs make anew when they start, with the version that is there: a replica of an older
-- version leaves what a newer one made.
CREATE TABLE schema_parts (
    part    TEXT PRIMARY KEY,
    version BIGINT NOT NULL
);

CREATE TABLE organization_configs (
    org_id     TEXT PRIMARY KEY,
    version    BIGINT NOT NULL,
    config     JSONB NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Tokens of programs, as digests. An agent key without `reads` publishes and searches only. `last_used_at` is kept to
-- the hour.
CREATE TABLE credentials (
    credential_id TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('agent', 'publish', 'dashboard', 'auditor', 'governance')),
    governance    BOOLEAN NOT NULL,
    reads         BOOLEAN NOT NULL DEFAULT TRUE,
    name          TEXT NOT NULL,
    token_sha256  TEXT NOT NULL UNIQUE,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT,
    last_used_at  BIGINT,
    revoked_at    BIGINT
);
CREATE INDEX credentials_org ON credentials (org_id, created_at);

-- Browsers that are signed in, by the digest of what their cookie says. A row that is gone signs its browser out.
CREATE TABLE browser_sessions (
    session_sha256 TEXT PRIMARY KEY,
    credential_id  TEXT NOT NULL,
    token_sha256   TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    ends_at        BIGINT NOT NULL
);
CREATE INDEX browser_sessions_end ON browser_sessions (ends_at);

-- People who run the installation and signed in with its OpenID Connect provider, as it names them.
CREATE TABLE people (
    person_id         TEXT PRIMARY KEY,
    issuer            TEXT NOT NULL,
    subject           TEXT NOT NULL,
    name              TEXT NOT NULL,
    email             TEXT,
    created_at        BIGINT NOT NULL,
    last_signed_in_at BIGINT NOT NULL,
    UNIQUE (issuer, subject)
);

-- Their signed-in browsers, with what the provider said last.
CREATE TABLE person_sessions (
    session_sha256       TEXT PRIMARY KEY,
    person_id            TEXT NOT NULL REFERENCES people (person_id),
    org_id               TEXT NOT NULL,
    organizations        JSONB NOT NULL,
    role                 TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'governance', 'admin')),
    sealed_refresh_token TEXT,
    check_at             BIGINT NOT NULL,
    ends_at              BIGINT NOT NULL,
    latest_end           BIGINT NOT NULL,
    created_at           BIGINT NOT NULL
);
CREATE INDEX person_sessions_end ON person_sessions (ends_at);

-- ===== People: subjects =====

-- One row per person of an organization, and the only place with their user id, which goes with an erasure. The subject
-- is a keyed hash of both (crates/storage/src/db/subject.rs), is the key of all their rows, and stays.
-- `fence_at` is when their last erasure began; `return_policy` says how what comes after it is met: refused until they
-- are readmitted, or accepted if it is newer.
CREATE TABLE subjects (
    org_id        TEXT NOT NULL,
    subject       UUID NOT NULL,
    user_id       TEXT,
    state         TEXT NOT NULL CHECK (state IN ('active', 'erasing', 'erased')),
    epoch         BIGINT NOT NULL,
    fence_at      BIGINT,
    return_policy TEXT NOT NULL DEFAULT 'blocked' CHECK (return_policy IN ('blocked', 'fenced', 'readmitted')),
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject)
);
-- Every search asks whether its person is being erased. This index is all but empty.
CREATE INDEX subjects_erasing ON subjects (org_id, subject) WHERE state = 'erasing';

-- ===== Sessions =====

CREATE TABLE sessions (
    org_id            TEXT NOT NULL,
    subject           UUID NOT NULL,
    session_id        TEXT NOT NULL,
    epoch             BIGINT NOT NULL,
    first_request_at  BIGINT NOT NULL,
    first_request_id  TEXT NOT NULL,
    last_request_at   BIGINT NOT NULL,
    last_received_at  BIGINT NOT NULL,
    finished_at       BIGINT,
    source            TEXT NOT NULL,
    agent_version     TEXT NOT NULL,
    request_count     BIGINT NOT NULL,
    interaction_count BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
);
CREATE INDEX sessions_recent ON sessions (org_id, last_request_at, subject, session_id);
CREATE INDEX sessions_first ON sessions (org_id, first_request_at);
CREATE INDEX sessions_by_id ON sessions (org_id, session_id);

-- `learning` says whether a request feeds learning, as it was decided when it was published.
CREATE TABLE requests (
    org_id                   TEXT NOT NULL,
    subject                  UUID NOT NULL,
    session_id               TEXT NOT NULL,
    request_id               TEXT NOT NULL,
    epoch                    BIGINT NOT NULL,
    created_at               BIGINT NOT NULL,
    received_at              BIGINT NOT NULL,
    source                   TEXT NOT NULL,
    agent_version            TEXT NOT NULL,
    evaluation_only          BOOLEAN NOT NULL,
    learning                 TEXT NOT NULL DEFAULT 'off' CHECK (learning IN ('off', 'on', 'without_aggregation')),
    retrieval_experiment_id  TEXT,
    retrieval_experiment_arm TEXT CHECK (retrieval_experiment_arm IN ('treatment', 'holdout')),
    content_sha256           TEXT NOT NULL,
    answer                   JSONB NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, request_id)
);
-- An id is its user's: two users may send the same one. By this index requests are also found by id alone.
CREATE UNIQUE INDEX requests_by_id ON requests (org_id, request_id, subject);
CREATE INDEX requests_by_experiment ON requests (org_id, subject, session_id, retrieval_experiment_id)
    WHERE retrieval_experiment_id IS NOT NULL;

-- One turn of a session. `usage` is model, tokens, cost and latency of the call behind it.
CREATE TABLE interactions (
    interaction_id          BIGINT GENERATED BY DEFAULT AS IDENTITY,
    org_id                  TEXT NOT NULL,
    subject                 UUID NOT NULL,
    session_id              TEXT NOT NULL,
    epoch                   BIGINT NOT NULL,
    request_id              TEXT NOT NULL,
    created_at              BIGINT NOT NULL,
    role                    TEXT NOT NULL,
    content                 TEXT NOT NULL,
    shadow_content          TEXT NOT NULL,
    expert_content          TEXT NOT NULL,
    user_action             TEXT NOT NULL,
    user_action_description TEXT NOT NULL,
    interacted_image_url    TEXT NOT NULL,
    image_encoding          TEXT NOT NULL,
    tools_used              JSONB NOT NULL,
    citations               JSONB NOT NULL,
    retrieved_learnings     JSONB NOT NULL,
    token_count             BIGINT,
    usage                   JSONB,
    PRIMARY KEY (org_id, subject, session_id, interaction_id)
);
CREATE INDEX interactions_arrival ON interactions (org_id, subject, interaction_id);

-- The customer's word on a session; one row per revision.
CREATE TABLE session_outcomes (
    org_id      TEXT NOT NULL,
    subject     UUID NOT NULL,
    session_id  TEXT NOT NULL,
    revision    BIGINT NOT NULL,
    epoch       BIGINT NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'unknown')),
    occurred_at BIGINT NOT NULL,
    label       TEXT,
    value       DOUBLE PRECISION,
    metadata    JSONB,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, revision)
);

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
CREATE UNIQUE INDEX questions_by_id ON questions (org_id, question_id, subject);
CREATE INDEX questions_newest ON questions (org_id, created_at);
CREATE INDEX questions_alike ON questions (org_id, subject, tool_name, dedup_key);

-- ===== Learnings =====

-- Profiles, user playbooks, agent playbooks, where agent playbooks come from, full text and vectors.
-- `terms` holds the words of a learning, each behind its scope ("p17xrefund"): the full-text index is made of it,
-- so that one person's words are one range of the index. See docs/decisions/0003-search.md.

-- Numbers that must be known before their rows are written.
CREATE SEQUENCE profiles_number;
CREATE SEQUENCE user_playbooks_number;
CREATE SEQUENCE agent_playbooks_number;
CREATE SEQUENCE scopes_number;

-- The number that stands for a person in the full-text index. It goes with the person: anything that an index might
-- still hold of an erased one leads nowhere.
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
    document                  TSVECTOR NOT NULL
        GENERATED ALWAYS AS (array_to_tsvector(string_to_array(terms, ' '))) STORED,
    PRIMARY KEY (org_id, subject, profile_no)
);
CREATE UNIQUE INDEX profiles_by_id ON profiles (org_id, profile_id, subject);
CREATE INDEX profiles_newest ON profiles (org_id, last_modified_timestamp);
CREATE INDEX profiles_expiring ON profiles (expiration_timestamp);

CREATE TABLE user_playbooks (
    user_playbook_id       BIGINT NOT NULL,
    org_id                 TEXT NOT NULL,
    subject                UUID NOT NULL,
    epoch                  BIGINT NOT NULL,
    agent_version          TEXT NOT NULL,
    request_id             TEXT NOT NULL,
    playbook_name          TEXT NOT NULL,
    created_at             BIGINT NOT NULL,
    content                TEXT NOT NULL,
    "trigger"              TEXT NOT NULL,
    rationale              TEXT NOT NULL,
    source                 TEXT NOT NULL,
    status                 TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags                   JSONB NOT NULL,
    source_interaction_ids JSONB NOT NULL,
    revision               BIGINT NOT NULL,
    terms                  TEXT NOT NULL,
    document               TSVECTOR NOT NULL
        GENERATED ALWAYS AS (array_to_tsvector(string_to_array(terms, ' '))) STORED,
    PRIMARY KEY (org_id, subject, user_playbook_id)
);
CREATE INDEX user_playbooks_recent ON user_playbooks (org_id, user_playbook_id);

CREATE TABLE agent_playbooks (
    agent_playbook_id BIGINT NOT NULL,
    org_id            TEXT NOT NULL,
    playbook_name     TEXT NOT NULL,
    agent_version     TEXT NOT NULL,
    created_at        BIGINT NOT NULL,
    content           TEXT NOT NULL,
    "trigger"         TEXT NOT NULL,
    rationale         TEXT NOT NULL,
    playbook_status   TEXT NOT NULL CHECK (playbook_status IN ('pending', 'approved', 'rejected')),
    playbook_metadata JSONB NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('current', 'pending', 'archived', 'superseded')),
    tags              JSONB NOT NULL,
    revision          BIGINT NOT NULL,
    terms             TEXT NOT NULL,
    document          TSVECTOR NOT NULL
        GENERATED ALWAYS AS (array_to_tsvector(string_to_array(terms, ' '))) STORED,
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

-- People's decisions about an agent playbook. The organization's own.
CREATE TABLE agent_playbook_decisions (
    org_id            TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    decision_id       TEXT NOT NULL,
    decision          TEXT NOT NULL
        CHECK (decision IN ('proposed', 'approved', 'rejected', 'pending', 'edited', 'archived')),
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

-- Vectors: one per learning, of the text at `revision`, by `model`. A row that is behind is made anew by a job.

CREATE TABLE profile_vectors (
    org_id     TEXT NOT NULL,
    subject    UUID NOT NULL,
    profile_no BIGINT NOT NULL,
    epoch      BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    model      TEXT NOT NULL,
    vector     BYTEA NOT NULL,
    PRIMARY KEY (org_id, subject, profile_no),
    FOREIGN KEY (org_id, subject, profile_no) REFERENCES profiles (org_id, subject, profile_no) ON DELETE CASCADE
);

CREATE TABLE user_playbook_vectors (
    org_id           TEXT NOT NULL,
    subject          UUID NOT NULL,
    user_playbook_id BIGINT NOT NULL,
    epoch            BIGINT NOT NULL,
    revision         BIGINT NOT NULL,
    model            TEXT NOT NULL,
    vector           BYTEA NOT NULL,
    PRIMARY KEY (org_id, subject, user_playbook_id),
    FOREIGN KEY (org_id, subject, user_playbook_id)
        REFERENCES user_playbooks (org_id, subject, user_playbook_id) ON DELETE CASCADE
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

-- Full text without the pending list, so that a search never reads through what others just wrote.
CREATE INDEX profiles_index ON profiles USING gin (document) WITH (fastupdate = off);
CREATE INDEX user_playbooks_index ON user_playbooks USING gin (document) WITH (fastupdate = off);
CREATE INDEX agent_playbooks_index ON agent_playbooks USING gin (document) WITH (fastupdate = off);

-- ===== Learning loop =====

-- Learnings are extracted from each person's stream of turns, window by window; changes are proposed to people.

-- The place up to which a person's turns were read. The next window begins after `cursor`; up to `seen` everything was
-- in one.
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
CREATE INDEX learning_windows_recent ON learning_windows (processed_at);
-- Indexes named …_paid serve the sums of what an organization paid, by day.
CREATE INDEX learning_windows_paid ON learning_windows (org_id, processed_at, cost_usd) WHERE cost_usd > 0;

-- Proposals of a window, and what became of them: this is the lineage of a person's learnings.
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
CREATE INDEX learning_proposals_of ON learning_proposals (org_id, kind, learning_id);
CREATE INDEX learning_proposals_newest ON learning_proposals (org_id, created_at);

-- A learning that hurts, and what is proposed to do about it. About an agent playbook it is the organization's own.
-- `trial` is what the trial found of a playbook that is to be rejected.
CREATE TABLE tuning_proposals (
    proposal_id  TEXT NOT NULL,
    org_id       TEXT NOT NULL,
    subject      UUID NOT NULL,
    epoch        BIGINT,
    kind         TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook', 'agent_playbook')),
    learning_id  TEXT NOT NULL,
    digest       TEXT NOT NULL,
    action       TEXT NOT NULL CHECK (action IN ('archive', 'edit', 'reject')),
    content      TEXT NOT NULL,
    "trigger"    TEXT NOT NULL,
    rationale    TEXT NOT NULL,
    drafted_by   TEXT NOT NULL,
    judged       BIGINT NOT NULL,
    impact       DOUBLE PRECISION NOT NULL,
    impact_upper DOUBLE PRECISION NOT NULL,
    trial        JSONB,
    status       TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'declined')),
    created_at   BIGINT NOT NULL,
    decided_at   BIGINT,
    PRIMARY KEY (org_id, subject, proposal_id),
    UNIQUE (org_id, kind, learning_id, digest, subject)
);
CREATE INDEX tuning_proposals_by_id ON tuning_proposals (org_id, proposal_id);

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
    PRIMARY KEY (org_id, subject, proposal_id, session_id, interaction_id)
);
CREATE INDEX tuning_evidence_of ON tuning_evidence (org_id, proposal_id);

-- A text that a model drafted for everybody from somebody's sessions goes when one of these does.
CREATE FUNCTION forget_drafts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tuning_proposals
       SET content = '', "trigger" = '', rationale = 'What it was drafted from is gone.', drafted_by = 'rules',
           action = CASE WHEN status = 'open' THEN 'archive' ELSE action END
     WHERE org_id = OLD.org_id AND proposal_id = OLD.proposal_id AND epoch IS NULL AND action = 'edit';
    RETURN NULL;
END $$;
CREATE TRIGGER forget_drafts AFTER DELETE ON tuning_evidence FOR EACH ROW EXECUTE FUNCTION forget_drafts();

-- ===== Evaluation =====

-- One row per (user, session, evaluation, agent version). (interaction_count, last_interaction_id) is the state of
-- the session that was judged: turns are never changed, so equal means nothing was added or deleted since.
-- probability: the learned judge's calibrated probability of success.
-- source and created_at are those of the session's first request (triggers keep them true).
-- is_newest: the newest verdict of success on its session, so that sessions are counted once.
-- chance: the chance that the session had to be judged, in 10,000ths. Rates count each verdict by its inverse where
-- chances differ. 0: somebody asked for the verdict of a session that was not drawn, which stands for nobody else.
-- user_group: one of 32, by a hash of the user; -1 until it is known.
-- result_id may be given: a verdict that was withdrawn gives its id to the next.
CREATE TABLE evaluation_results (
    result_id                BIGINT GENERATED BY DEFAULT AS IDENTITY,
    org_id                   TEXT NOT NULL,
    subject                  UUID NOT NULL,
    session_id               TEXT NOT NULL,
    evaluation_name          TEXT NOT NULL,
    agent_version            TEXT NOT NULL,
    epoch                    BIGINT NOT NULL,
    is_success               BOOLEAN NOT NULL,
    probability              DOUBLE PRECISION,
    failure_type             TEXT NOT NULL,
    failure_reason           TEXT NOT NULL,
    number_of_corrections    BIGINT NOT NULL,
    user_turns_to_resolution BIGINT,
    is_escalated             BOOLEAN NOT NULL,
    tags                     JSONB,
    learning_status          TEXT NOT NULL,
    source                   TEXT NOT NULL DEFAULT '',
    created_at               BIGINT NOT NULL,
    evaluated_at             BIGINT NOT NULL,
    is_newest                BOOLEAN NOT NULL DEFAULT FALSE,
    chance                   BIGINT NOT NULL DEFAULT 10000,
    user_group               BIGINT NOT NULL DEFAULT -1,
    interaction_count        BIGINT NOT NULL,
    last_interaction_id      BIGINT NOT NULL,
    judge                    TEXT NOT NULL,
    prompt_version           TEXT NOT NULL,
    rubric_hash              TEXT NOT NULL,
    input_tokens             BIGINT NOT NULL,
    output_tokens            BIGINT NOT NULL,
    cost_usd                 DOUBLE PRECISION,
    latency_ms               BIGINT NOT NULL,
    attempts                 BIGINT NOT NULL,
    flags                    JSONB NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, evaluation_name, agent_version)
);
CREATE INDEX evaluation_results_recent ON evaluation_results (org_id, created_at, result_id);
CREATE INDEX evaluation_results_by_source ON evaluation_results
    (org_id, source, created_at, result_id, subject, session_id, is_newest) WHERE is_newest;
CREATE INDEX evaluation_results_paid ON evaluation_results (org_id, evaluated_at, cost_usd) WHERE cost_usd > 0;

-- The last decision about evaluating a session. While a job is open, the job says more.
CREATE TABLE evaluation_decisions (
    org_id     TEXT NOT NULL,
    subject    UUID NOT NULL,
    session_id TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    decision   TEXT NOT NULL CHECK (decision IN ('sampled_out', 'skipped', 'failed', 'undecided', 'judged')),
    reason     TEXT NOT NULL,
    decided_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
);

-- Sessions that were due and have no verdict of success on this version of the agent: a judge may abstain. result_id is
-- that of the verdict that was withdrawn, if there was one, for the next. (interaction_count, last_interaction_id),
-- is_newest and chance as in evaluation_results.
CREATE TABLE verdict_gaps (
    org_id              TEXT NOT NULL,
    subject             UUID NOT NULL,
    session_id          TEXT NOT NULL,
    agent_version       TEXT NOT NULL,
    epoch               BIGINT NOT NULL,
    cause               TEXT NOT NULL CHECK (cause IN ('undecided', 'failed')),
    reason              TEXT NOT NULL,
    probability         DOUBLE PRECISION,
    result_id           BIGINT,
    learning_status     TEXT NOT NULL,
    source              TEXT NOT NULL,
    created_at          BIGINT NOT NULL,
    judged_at           BIGINT NOT NULL,
    is_newest           BOOLEAN NOT NULL,
    chance              BIGINT NOT NULL DEFAULT 10000,
    interaction_count   BIGINT NOT NULL,
    last_interaction_id BIGINT NOT NULL,
    judge               TEXT NOT NULL,
    prompt_version      TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, agent_version)
);
CREATE INDEX verdict_gaps_recent ON verdict_gaps (org_id, created_at);

-- A judgement that is under way and is paid for: the job that makes it. Stale once that job's lease has ended.
CREATE TABLE judgements_under_way (
    org_id      TEXT NOT NULL,
    subject     UUID NOT NULL,
    session_id  TEXT NOT NULL,
    epoch       BIGINT NOT NULL,
    job_id      TEXT NOT NULL,
    lease_token TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
);

-- Relevance and impact of one learning at one turn.
CREATE TABLE learning_verdicts (
    result_id                   BIGINT GENERATED ALWAYS AS IDENTITY,
    org_id                      TEXT NOT NULL,
    subject                     UUID NOT NULL,
    session_id                  TEXT NOT NULL,
    interaction_id              BIGINT NOT NULL,
    kind                        TEXT NOT NULL CHECK (kind IN ('profile', 'user_playbook', 'agent_playbook')),
    learning_id                 TEXT NOT NULL,
    epoch                       BIGINT NOT NULL,
    agent_version               TEXT NOT NULL,
    interaction_created_at      BIGINT NOT NULL,
    is_relevant                 BOOLEAN,
    relevance_reason            TEXT NOT NULL,
    impact                      TEXT CHECK (impact IN ('positive', 'negative', 'neutral')),
    impact_reason               TEXT NOT NULL,
    diagnosis                   JSONB,
    evaluated_playbook_digest   TEXT,
    diagnosis_evidence_complete BOOLEAN NOT NULL,
    created_at                  BIGINT NOT NULL,
    judge                       TEXT NOT NULL,
    prompt_version              TEXT NOT NULL,
    rubric_hash                 TEXT NOT NULL,
    input_tokens                BIGINT NOT NULL,
    output_tokens               BIGINT NOT NULL,
    cost_usd                    DOUBLE PRECISION,
    latency_ms                  BIGINT NOT NULL,
    attempts                    BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, interaction_id, kind, learning_id)
);
CREATE INDEX learning_verdicts_recent ON learning_verdicts (org_id, interaction_created_at, result_id);
CREATE INDEX learning_verdicts_of ON learning_verdicts (org_id, kind, learning_id);
CREATE INDEX learning_verdicts_paid ON learning_verdicts (org_id, created_at, cost_usd) WHERE cost_usd > 0;

-- A person's judgement of a session. One row per labeller; a new label replaces their old one.
CREATE TABLE session_labels (
    org_id          TEXT NOT NULL,
    subject         UUID NOT NULL,
    session_id      TEXT NOT NULL,
    evaluation_name TEXT NOT NULL,
    labelled_by     TEXT NOT NULL,
    epoch           BIGINT NOT NULL,
    is_success      BOOLEAN NOT NULL,
    failure_type    TEXT NOT NULL,
    note            TEXT NOT NULL,
    labelled_at     BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, evaluation_name, labelled_by)
);

-- Sessions that the review queue drew. chance: of the random half, the chance of its stratum to be drawn so far.
CREATE TABLE review_draws (
    org_id     TEXT NOT NULL,
    subject    UUID NOT NULL,
    session_id TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    half       TEXT NOT NULL CHECK (half IN ('random', 'informative')),
    stratum    TEXT NOT NULL,
    chance     DOUBLE PRECISION,
    drawn_at   BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
);
CREATE INDEX review_draws_by_stratum ON review_draws (org_id, stratum);

-- A replay of the judge over a window: the parent job's id, what was asked, and the final counts once it ended.
-- With candidate_version it is a judge diff, whose verdicts are in candidate_verdicts and touch no live number.
CREATE TABLE regenerations (
    job_id             TEXT PRIMARY KEY,
    org_id             TEXT NOT NULL,
    evaluation_name    TEXT NOT NULL,
    candidate_version  TEXT,
    from_ts            BIGINT NOT NULL,
    to_ts              BIGINT NOT NULL,
    seed               TEXT NOT NULL,
    sample_per_stratum BIGINT NOT NULL,
    concurrency_limit  BIGINT NOT NULL,
    max_cost_usd       DOUBLE PRECISION,
    estimated_cost_usd DOUBLE PRECISION,
    total_candidates   BIGINT NOT NULL,
    total              BIGINT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('running', 'completed', 'cancelled', 'error')),
    reason             TEXT,
    started_at         BIGINT NOT NULL,
    finished_at        BIGINT,
    completed          BIGINT,
    failed             BIGINT,
    cost_usd           DOUBLE PRECISION
);
CREATE UNIQUE INDEX regenerations_running ON regenerations (org_id) WHERE status = 'running';
CREATE INDEX regenerations_recent ON regenerations (org_id, started_at);

CREATE TABLE candidate_verdicts (
    org_id         TEXT NOT NULL,
    subject        UUID NOT NULL,
    session_id     TEXT NOT NULL,
    job_id         TEXT NOT NULL,
    epoch          BIGINT NOT NULL,
    live_success   BOOLEAN,
    is_success     BOOLEAN NOT NULL,
    failure_type   TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    judge          TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    rubric_hash    TEXT NOT NULL,
    cost_usd       DOUBLE PRECISION,
    evaluated_at   BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, job_id)
);
CREATE INDEX candidate_verdicts_of ON candidate_verdicts (job_id);
CREATE INDEX candidate_verdicts_paid ON candidate_verdicts (org_id, evaluated_at, cost_usd) WHERE cost_usd > 0;

-- Models that organizations' own labels and outcomes trained. The knowledge of a deleted one is gone (model is empty);
-- its number is never given again. comparison: of the last candidate with this one, as JSON.
CREATE TABLE judge_models (
    org_id          TEXT NOT NULL,
    number          BIGINT NOT NULL,
    model           TEXT NOT NULL,
    is_current      BOOLEAN NOT NULL,
    labels          BIGINT NOT NULL,
    trained_at      BIGINT NOT NULL,
    compared_at     BIGINT NOT NULL,
    compared_labels BIGINT NOT NULL,
    comparison      TEXT,
    PRIMARY KEY (org_id, number)
);
CREATE UNIQUE INDEX judge_models_in_use ON judge_models (org_id) WHERE is_current;

-- The sessions that a model learned from. out_of_fold: what it says of them without having seen their users.
CREATE TABLE model_training (
    org_id       TEXT NOT NULL,
    subject      UUID NOT NULL,
    session_id   TEXT NOT NULL,
    model_number BIGINT NOT NULL,
    epoch        BIGINT NOT NULL,
    is_success   BOOLEAN NOT NULL,
    truth        TEXT NOT NULL CHECK (truth IN ('label', 'outcome')),
    out_of_fold  DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, model_number)
);

-- One verdict per (turn, rubric). created_at is the turn's, judged_at the judgement's. order_consistent is null when
-- the pair was judged in one order only.
CREATE TABLE shadow_verdicts (
    verdict_id              BIGINT GENERATED ALWAYS AS IDENTITY,
    org_id                  TEXT NOT NULL,
    subject                 UUID NOT NULL,
    session_id              TEXT NOT NULL,
    interaction_id          BIGINT NOT NULL,
    judge_prompt_version    TEXT NOT NULL,
    epoch                   BIGINT NOT NULL,
    agent_version           TEXT NOT NULL,
    service_is_request_1    BOOLEAN NOT NULL,
    better_request          TEXT NOT NULL CHECK (better_request IN ('1', '2', 'tie')),
    is_significantly_better BOOLEAN NOT NULL,
    comparison_reason       TEXT NOT NULL,
    order_consistent        BOOLEAN,
    created_at              BIGINT NOT NULL,
    judged_at               BIGINT NOT NULL,
    judge                   TEXT NOT NULL,
    rubric_hash             TEXT NOT NULL,
    input_tokens            BIGINT NOT NULL,
    output_tokens           BIGINT NOT NULL,
    cost_usd                DOUBLE PRECISION,
    latency_ms              BIGINT NOT NULL,
    attempts                BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, interaction_id, judge_prompt_version)
);
CREATE INDEX shadow_verdicts_recent ON shadow_verdicts (org_id, judge_prompt_version, created_at, verdict_id);
CREATE INDEX shadow_verdicts_paid ON shadow_verdicts (org_id, judged_at, cost_usd) WHERE cost_usd > 0;

-- A session's shadow verdicts of one rubric, taken together. user_group as in evaluation_results.
CREATE TABLE shadow_sessions (
    org_id               TEXT NOT NULL,
    subject              UUID NOT NULL,
    session_id           TEXT NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    epoch                BIGINT NOT NULL,
    source               TEXT NOT NULL,
    created_at           BIGINT NOT NULL,
    user_group           BIGINT NOT NULL DEFAULT -1,
    regular_vs_shadow    TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, judge_prompt_version)
);
CREATE INDEX shadow_sessions_recent ON shadow_sessions (org_id, judge_prompt_version, created_at);

-- One row per rule that a judged session cites, with how the session went.
CREATE TABLE cited_rules (
    org_id     TEXT NOT NULL,
    subject    UUID NOT NULL,
    session_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    rule_id    TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    title      TEXT NOT NULL,
    source     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    is_success BOOLEAN NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, kind, rule_id)
);
CREATE INDEX cited_rules_recent ON cited_rules (org_id, created_at);
CREATE INDEX cited_rules_of ON cited_rules (org_id, kind, rule_id, created_at, subject, session_id);

-- Scores that other programs gave to sessions.
CREATE TABLE imported_scores (
    org_id        TEXT NOT NULL,
    subject       UUID NOT NULL,
    session_id    TEXT NOT NULL,
    source_run_id TEXT NOT NULL,
    epoch         BIGINT NOT NULL,
    scorer_name   TEXT NOT NULL,
    value         DOUBLE PRECISION NOT NULL,
    ts            BIGINT NOT NULL,
    imported_at   BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, source_run_id)
);
CREATE UNIQUE INDEX imported_scores_by_run ON imported_scores (org_id, source_run_id, subject);
CREATE INDEX imported_scores_recent ON imported_scores (org_id, ts);

-- ===== The overview's sums =====

-- Lines of sums (…_rollups) over hours, days and weeks (UTC; weeks begin on Monday): `grain` seconds from `start`. They
-- name nobody; a line whose rows are all gone goes too. Lines of verdicts and of shadow comparisons keep their sums by
-- group of users as well (user_groups).
-- Sums are folded from deltas. A trigger appends to a table of deltas what a row counts for, in the row's transaction;
-- a job adds the deltas up into the lines, and whoever reads adds what is not folded yet. So writers never wait for
-- each other's lines. Rows of deltas come and go all the time, and there are few at any moment: autovacuum goes by
-- their number. `place` is what Citus spreads them by, so that they are beside the rows they come from; it names nobody.

-- by_rules: verdicts of the rules on their own, which have no success rate.
CREATE TABLE evaluation_rollups (
    org_id        TEXT NOT NULL,
    grain         BIGINT NOT NULL,
    start         BIGINT NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     BIGINT NOT NULL,
    chance        BIGINT NOT NULL,
    n             BIGINT NOT NULL,
    successes     BIGINT NOT NULL,
    system_errors BIGINT NOT NULL,
    corrections   BIGINT NOT NULL,
    corrected_0   BIGINT NOT NULL,
    corrected_1   BIGINT NOT NULL,
    corrected_2   BIGINT NOT NULL,
    corrected_3   BIGINT NOT NULL,
    corrected_4   BIGINT NOT NULL,
    corrected_5   BIGINT NOT NULL,
    turns_n       BIGINT NOT NULL,
    turns         BIGINT NOT NULL,
    escalations   BIGINT NOT NULL,
    by_rules      BIGINT NOT NULL,
    user_groups   TEXT NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest, chance)
);

CREATE TABLE evaluation_deltas (
    delta_id      BIGINT GENERATED BY DEFAULT AS IDENTITY,
    place         UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    org_id        TEXT NOT NULL,
    hour          BIGINT NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     BIGINT NOT NULL,
    chance        BIGINT NOT NULL DEFAULT 10000,
    user_group    BIGINT NOT NULL,
    n             BIGINT NOT NULL,
    successes     BIGINT NOT NULL,
    system_errors BIGINT NOT NULL,
    corrections   BIGINT NOT NULL,
    corrected_0   BIGINT NOT NULL,
    corrected_1   BIGINT NOT NULL,
    corrected_2   BIGINT NOT NULL,
    corrected_3   BIGINT NOT NULL,
    corrected_4   BIGINT NOT NULL,
    corrected_5   BIGINT NOT NULL,
    turns_n       BIGINT NOT NULL,
    turns         BIGINT NOT NULL,
    escalations   BIGINT NOT NULL,
    by_rules      BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (delta_id, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX evaluation_deltas_at ON evaluation_deltas (org_id, hour);

CREATE TABLE gap_rollups (
    org_id        TEXT NOT NULL,
    grain         BIGINT NOT NULL,
    start         BIGINT NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     BIGINT NOT NULL,
    chance        BIGINT NOT NULL,
    n             BIGINT NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest, chance)
);

CREATE TABLE gap_deltas (
    delta_id      BIGINT GENERATED BY DEFAULT AS IDENTITY,
    place         UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    org_id        TEXT NOT NULL,
    hour          BIGINT NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     BIGINT NOT NULL,
    chance        BIGINT NOT NULL DEFAULT 10000,
    n             BIGINT NOT NULL,
    PRIMARY KEY (delta_id, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX gap_deltas_at ON gap_deltas (org_id, hour);

-- `source` is a source, or * for all of them.
CREATE TABLE rule_rollups (
    org_id    TEXT NOT NULL,
    grain     BIGINT NOT NULL,
    source    TEXT NOT NULL,
    start     BIGINT NOT NULL,
    kind      TEXT NOT NULL,
    rule_id   TEXT NOT NULL,
    n         BIGINT NOT NULL,
    successes BIGINT NOT NULL,
    PRIMARY KEY (org_id, grain, source, start, kind, rule_id)
);

CREATE TABLE rule_deltas (
    delta_id  BIGINT GENERATED BY DEFAULT AS IDENTITY,
    place     UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    org_id    TEXT NOT NULL,
    hour      BIGINT NOT NULL,
    source    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    rule_id   TEXT NOT NULL,
    n         BIGINT NOT NULL,
    successes BIGINT NOT NULL,
    PRIMARY KEY (delta_id, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX rule_deltas_at ON rule_deltas (org_id, hour);

CREATE TABLE shadow_session_rollups (
    org_id               TEXT NOT NULL,
    grain                BIGINT NOT NULL,
    start                BIGINT NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    source               TEXT NOT NULL,
    n                    BIGINT NOT NULL,
    regular_better       BIGINT NOT NULL,
    shadow_better        BIGINT NOT NULL,
    user_groups          TEXT NOT NULL,
    PRIMARY KEY (org_id, grain, judge_prompt_version, start, source)
);

CREATE TABLE shadow_session_deltas (
    delta_id             BIGINT GENERATED BY DEFAULT AS IDENTITY,
    place                UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    org_id               TEXT NOT NULL,
    hour                 BIGINT NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    source               TEXT NOT NULL,
    user_group           BIGINT NOT NULL,
    n                    BIGINT NOT NULL,
    regular_better       BIGINT NOT NULL,
    shadow_better        BIGINT NOT NULL,
    PRIMARY KEY (delta_id, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX shadow_session_deltas_at ON shadow_session_deltas (org_id, hour);

CREATE TABLE shadow_turn_rollups (
    org_id               TEXT NOT NULL,
    grain                BIGINT NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    start                BIGINT NOT NULL,
    n                    BIGINT NOT NULL,
    wins                 BIGINT NOT NULL,
    losses               BIGINT NOT NULL,
    both_orders          BIGINT NOT NULL,
    flips                BIGINT NOT NULL,
    PRIMARY KEY (org_id, grain, judge_prompt_version, start)
);

CREATE TABLE shadow_turn_deltas (
    delta_id             BIGINT GENERATED BY DEFAULT AS IDENTITY,
    place                UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    org_id               TEXT NOT NULL,
    hour                 BIGINT NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    n                    BIGINT NOT NULL,
    wins                 BIGINT NOT NULL,
    losses               BIGINT NOT NULL,
    both_orders          BIGINT NOT NULL,
    flips                BIGINT NOT NULL,
    PRIMARY KEY (delta_id, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX shadow_turn_deltas_at ON shadow_turn_deltas (org_id, hour);

-- How many deltas were folded so far, of each table of deltas.
CREATE TABLE folded_deltas (
    deltas TEXT PRIMARY KEY,
    folded BIGINT NOT NULL
);

-- ===== Experiments =====

-- Holdout experiments on retrieval: the experiments themselves, who was exposed to what, and per-user sums.

-- One row per experiment, numbered in the order of their starts. At most one of an organization is active. hypothesis,
-- owner and notes are words of those who run it.
CREATE TABLE experiments (
    org_id                   TEXT NOT NULL,
    experiment_id            TEXT NOT NULL,
    number                   BIGINT NOT NULL,
    hypothesis               TEXT NOT NULL DEFAULT '',
    owner                    TEXT NOT NULL DEFAULT '',
    notes                    TEXT NOT NULL DEFAULT '',
    holdout_percentage       DOUBLE PRECISION NOT NULL CHECK (holdout_percentage > 0 AND holdout_percentage < 100),
    planned_users            BIGINT NOT NULL,
    margin_percentage_points DOUBLE PRECISION NOT NULL,
    started_at               BIGINT NOT NULL,
    ended_at                 BIGINT,
    PRIMARY KEY (org_id, experiment_id),
    UNIQUE (org_id, number)
);
CREATE UNIQUE INDEX experiments_active ON experiments (org_id) WHERE ended_at IS NULL;

-- Learnings that one session of a user was served, or would have been. Searches are summed, so rows grow with sessions,
-- not with searches. session_id is empty where the search named none.
CREATE TABLE experiment_exposures (
    org_id              TEXT NOT NULL,
    subject             UUID NOT NULL,
    session_id          TEXT NOT NULL,
    experiment_id       TEXT NOT NULL,
    epoch               BIGINT NOT NULL,
    number              BIGINT NOT NULL,
    arm                 TEXT NOT NULL CHECK (arm IN ('treatment', 'holdout')),
    first_exposed_at    BIGINT NOT NULL,
    last_exposed_at     BIGINT NOT NULL,
    searches            BIGINT NOT NULL,
    found               BIGINT NOT NULL,
    served              BIGINT NOT NULL,
    served_new          BIGINT NOT NULL,
    served_from_holdout BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, experiment_id)
);

-- One user's part in the analysis, as one line of integers (crates/service/src/experiments/sums.rs). Made from the rows
-- of the other tables and never changed by hand: a user who is in experiment_stale_users is summed up anew before use.
CREATE TABLE experiment_user_sums (
    org_id        TEXT NOT NULL,
    experiment_id TEXT NOT NULL,
    subject       UUID NOT NULL,
    epoch         BIGINT NOT NULL,
    contaminated  BIGINT NOT NULL,
    sums          TEXT NOT NULL,
    PRIMARY KEY (org_id, experiment_id, subject)
);
CREATE UNIQUE INDEX experiment_user_sums_of ON experiment_user_sums (org_id, subject, experiment_id);
CREATE INDEX experiment_user_sums_contaminated ON experiment_user_sums (org_id, experiment_id, subject)
    WHERE contaminated > 0;

-- Users whose sums are behind; triggers write it.
CREATE TABLE experiment_stale_users (
    org_id        TEXT NOT NULL,
    experiment_id TEXT NOT NULL,
    subject       UUID NOT NULL,
    epoch         BIGINT NOT NULL,
    marks         BIGINT NOT NULL,
    PRIMARY KEY (org_id, experiment_id, subject)
);
CREATE UNIQUE INDEX experiment_stale_users_of ON experiment_stale_users (org_id, subject, experiment_id);

-- The combinations of source, agent version and judge that sums refer to by number.
CREATE TABLE experiment_strata (
    org_id         TEXT NOT NULL,
    experiment_id  TEXT NOT NULL,
    stratum        BIGINT NOT NULL,
    source         TEXT NOT NULL,
    agent_version  TEXT NOT NULL,
    judge          TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    PRIMARY KEY (org_id, experiment_id, stratum),
    UNIQUE (org_id, experiment_id, source, agent_version, judge, prompt_version)
);

-- All looks at an experiment so far, taken together. evaluation_rate_p: the smallest p-value so far of the sequential
-- test that both arms are judged equally often.
CREATE TABLE experiment_looks (
    org_id            TEXT NOT NULL,
    experiment_id     TEXT NOT NULL,
    lower             DOUBLE PRECISION,
    upper             DOUBLE PRECISION,
    p_value           DOUBLE PRECISION,
    exposed_p         DOUBLE PRECISION NOT NULL,
    published_p       DOUBLE PRECISION NOT NULL,
    evaluated_p       DOUBLE PRECISION NOT NULL,
    triggered_p       DOUBLE PRECISION NOT NULL,
    evaluation_rate_p DOUBLE PRECISION NOT NULL DEFAULT 1,
    PRIMARY KEY (org_id, experiment_id)
);

-- The last look of every day (UTC) at an experiment while it ran, in percentage points.
CREATE TABLE experiment_daily_looks (
    org_id          TEXT NOT NULL,
    experiment_id   TEXT NOT NULL,
    day             BIGINT NOT NULL,
    lift            DOUBLE PRECISION NOT NULL,
    lower           DOUBLE PRECISION,
    upper           DOUBLE PRECISION,
    treatment_users BIGINT NOT NULL,
    holdout_users   BIGINT NOT NULL,
    PRIMARY KEY (org_id, experiment_id, day)
);

-- Any change of what an experiment counts marks the user, whatever code makes it. A mark that is there
-- is counted up, which locks it: whoever sums the user up meanwhile passes them over, and their mark stays.
CREATE FUNCTION experiment_mark(of_org TEXT, of_experiment TEXT, of_subject UUID) RETURNS void LANGUAGE sql AS $$
    INSERT INTO experiment_stale_users AS m (org_id, experiment_id, subject, epoch, marks)
    SELECT s.org_id, of_experiment, s.subject, s.epoch, 1 FROM subjects s
     WHERE s.org_id = of_org AND s.subject = of_subject AND s.state = 'active'
    ON CONFLICT (org_id, experiment_id, subject) DO UPDATE SET marks = m.marks + 1, epoch = excluded.epoch
$$;

-- A session belongs to an experiment when any of its requests names it, and its output tokens are those of the whole
-- session: a request without attribution, too, changes what is counted of a session that has some.
CREATE FUNCTION stale_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM experiment_mark(e.org_id, e.experiment_id, NEW.subject) FROM experiments e
      WHERE e.org_id = NEW.org_id
        AND EXISTS (SELECT 1 FROM requests r
                     WHERE r.org_id = NEW.org_id AND r.subject = NEW.subject AND r.session_id = NEW.session_id
                       AND r.retrieval_experiment_id = e.experiment_id);
    RETURN NULL;
END $$;
CREATE TRIGGER stale_request_insert AFTER INSERT ON requests FOR EACH ROW EXECUTE FUNCTION stale_request();

CREATE FUNCTION stale_exposure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM experiment_mark(NEW.org_id, NEW.experiment_id, NEW.subject);
    RETURN NULL;
END $$;
CREATE TRIGGER stale_exposure_change AFTER INSERT OR UPDATE ON experiment_exposures FOR EACH ROW
    EXECUTE FUNCTION stale_exposure();

-- A verdict counts in every experiment whose window, or the thirty days before it, the session began in, and in
-- those that its requests name.
CREATE FUNCTION stale_verdict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM experiment_mark(e.org_id, e.experiment_id, NEW.subject) FROM experiments e
      WHERE e.org_id = NEW.org_id
        AND ((NEW.created_at >= e.started_at - 2592000 AND NEW.created_at <= COALESCE(e.ended_at, NEW.created_at))
             OR (TG_OP = 'UPDATE' AND EXISTS (
                    SELECT 1 FROM experiment_user_sums u
                     WHERE u.org_id = e.org_id AND u.experiment_id = e.experiment_id AND u.subject = NEW.subject))
             OR EXISTS (SELECT 1 FROM requests r
                         WHERE r.org_id = NEW.org_id AND r.subject = NEW.subject AND r.session_id = NEW.session_id
                           AND r.retrieval_experiment_id = e.experiment_id));
    RETURN NULL;
END $$;
CREATE TRIGGER stale_verdict_change AFTER INSERT OR UPDATE ON evaluation_results FOR EACH ROW
    WHEN (NEW.evaluation_name = 'agent_success') EXECUTE FUNCTION stale_verdict();

-- Rows that go, labels, decisions and gaps matter to those who are summed up already. Nothing is marked for someone who
-- is being erased: their sums go as well.
CREATE FUNCTION stale_summed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed RECORD;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    PERFORM experiment_mark(u.org_id, u.experiment_id, u.subject) FROM experiment_user_sums u
      WHERE u.org_id = changed.org_id AND u.subject = changed.subject;
    RETURN NULL;
END $$;
CREATE TRIGGER stale_verdict_delete AFTER DELETE ON evaluation_results FOR EACH ROW EXECUTE FUNCTION stale_summed();
CREATE TRIGGER stale_request_delete AFTER DELETE ON requests FOR EACH ROW EXECUTE FUNCTION stale_summed();
CREATE TRIGGER stale_interaction_delete AFTER DELETE ON interactions FOR EACH ROW EXECUTE FUNCTION stale_summed();
CREATE TRIGGER stale_exposure_delete AFTER DELETE ON experiment_exposures FOR EACH ROW EXECUTE FUNCTION stale_summed();
CREATE TRIGGER stale_label_change AFTER INSERT OR UPDATE OR DELETE ON session_labels FOR EACH ROW
    EXECUTE FUNCTION stale_summed();

-- A session that sampling left out is not unknown to an experiment: it counts neither in the evaluation rates of the
-- arms nor in the worst case. So a decision about a session marks its user.
CREATE TRIGGER stale_decision_insert AFTER INSERT ON evaluation_decisions FOR EACH ROW
    EXECUTE FUNCTION stale_summed();
CREATE TRIGGER stale_decision_update AFTER UPDATE ON evaluation_decisions FOR EACH ROW
    WHEN (NEW.decision <> OLD.decision) EXECUTE FUNCTION stale_summed();

-- Sums of an experiment count the sessions without a verdict.
CREATE TRIGGER stale_gap_change AFTER INSERT OR UPDATE OR DELETE ON verdict_gaps FOR EACH ROW
    EXECUTE FUNCTION stale_summed();

-- A source, agent version or judge that an experiment met with the erased alone is not remembered.
CREATE FUNCTION forget_strata() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM subjects s
                    WHERE s.org_id = OLD.org_id AND s.subject = OLD.subject AND s.state = 'active') THEN
        DELETE FROM experiment_strata e WHERE e.org_id = OLD.org_id AND e.experiment_id = OLD.experiment_id
           AND NOT EXISTS (SELECT 1 FROM evaluation_results r
                            WHERE r.org_id = e.org_id AND r.source = e.source AND r.is_newest
                              AND r.agent_version = e.agent_version AND r.judge = e.judge
                              AND r.prompt_version = e.prompt_version);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_strata AFTER DELETE ON experiment_user_sums FOR EACH ROW EXECUTE FUNCTION forget_strata();

-- ===== Trials =====

-- Times in which neither the text nor the share of a playbook on trial changes. The organization's own.
-- share: of the users from whom it is withheld, in 10,000ths. is_settled: it is known to help.
CREATE TABLE trial_epochs (
    org_id            TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    epoch_no          BIGINT NOT NULL,
    digest            TEXT NOT NULL,
    share             BIGINT NOT NULL,
    is_settled        BOOLEAN NOT NULL,
    planned_users     BIGINT NOT NULL,
    started_at        BIGINT NOT NULL,
    PRIMARY KEY (org_id, agent_playbook_id, epoch_no)
);

-- Playbooks that were found for a user in a session, and whether they were withheld.
CREATE TABLE trial_exposures (
    org_id            TEXT NOT NULL,
    subject           UUID NOT NULL,
    session_id        TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    epoch_no          BIGINT NOT NULL,
    epoch             BIGINT NOT NULL,
    withheld          BOOLEAN NOT NULL,
    found_rank        BIGINT NOT NULL,
    found_at          BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, agent_playbook_id, epoch_no)
);
CREATE INDEX trial_exposures_of ON trial_exposures (org_id, agent_playbook_id, found_at);

-- ===== Webhooks and alerts =====

-- Events that are sent to other programs, and rules that watch a metric.

-- A receiver: a program, a chat or a person's e-mail address. The address of a chat is sealed, and `url` is then the
-- part that is shown. The signing secret is made of the governance key `key_id` and stored nowhere. While the receiver
-- fails, nothing is sent to it before `failing_until`.
CREATE TABLE webhooks (
    org_id        TEXT NOT NULL,
    webhook_id    TEXT NOT NULL,
    url           TEXT NOT NULL,
    sealed_url    TEXT,
    format        TEXT NOT NULL CHECK (format IN ('standard', 'slack', 'email')),
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
    subject         UUID NOT NULL,
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
    PRIMARY KEY (org_id, subject, delivery_id)
);
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (org_id, webhook_id, created_at, delivery_id);
CREATE INDEX webhook_deliveries_by_id ON webhook_deliveries (org_id, delivery_id);

-- News that are told once, whoever notices them.
CREATE TABLE webhook_news (
    org_id   TEXT NOT NULL,
    event    TEXT NOT NULL,
    news_key TEXT NOT NULL,
    told_at  BIGINT NOT NULL,
    PRIMARY KEY (org_id, event, news_key)
);

-- A metric that is compared with the four weeks before, and how it stood at the last look. Either `armed_from` is set,
-- or both `worse_since` and `noticed_at`.
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
    org_id      TEXT NOT NULL,
    rule_id     TEXT NOT NULL,
    raised_at   BIGINT NOT NULL,
    worse_since BIGINT NOT NULL,
    cleared_at  BIGINT,
    cleared_as  TEXT,
    mean_before DOUBLE PRECISION NOT NULL,
    mean_since  DOUBLE PRECISION NOT NULL,
    difference  DOUBLE PRECISION NOT NULL,
    ci_lower    DOUBLE PRECISION NOT NULL,
    ci_upper    DOUBLE PRECISION NOT NULL,
    sessions    DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (org_id, rule_id, raised_at)
);

-- ===== Governance =====

-- Erasures, exports and the audit chain. None of these tables can be turned back into a person: they hold keyed
-- references, counts and times.

-- One row per (person, request id). sealed_user is what the workers need until the end: the user id, encrypted
-- under a key that is not in the database; gone when the erasure is complete.
CREATE TABLE purge_operations (
    purge_id       TEXT PRIMARY KEY,
    org_id         TEXT NOT NULL,
    subject        UUID NOT NULL,
    subject_ref    TEXT NOT NULL,
    request_ref    TEXT NOT NULL,
    actor_ref      TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending', 'running', 'failed', 'complete')),
    sealed_user    TEXT,
    epoch          BIGINT NOT NULL,
    job_id         TEXT NOT NULL,
    attempts       BIGINT NOT NULL,
    deleted_counts JSONB NOT NULL,
    error_code     TEXT,
    error_detail   TEXT,
    fence_at       BIGINT NOT NULL,
    physical_at    BIGINT,
    audit_sequence BIGINT,
    audit_hash     TEXT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    completed_at   BIGINT
);
CREATE UNIQUE INDEX purge_operations_pair ON purge_operations (org_id, subject_ref, request_ref);
CREATE INDEX purge_operations_unfinished ON purge_operations (created_at) WHERE status <> 'complete';
CREATE INDEX purge_operations_unscrubbed ON purge_operations (completed_at) WHERE physical_at IS NULL;

CREATE TABLE governance_exports (
    export_id   TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    request_ref TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX governance_exports_pair ON governance_exports (org_id, subject_ref, request_ref);

-- Each row carries the hash of the one before it. Nothing here is ever changed or deleted.
CREATE TABLE audit_events (
    sequence      BIGINT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    operation     TEXT NOT NULL
        CHECK (operation IN ('EXPORT', 'ERASE', 'READMIT', 'KEY_CREATE', 'KEY_REVOKE', 'CONFIG', 'PLAYBOOK',
                             'DELETE', 'REFUSED', 'SEALED', 'RESTORED')),
    status        TEXT NOT NULL CHECK (status IN ('ok', 'error')),
    actor_ref     TEXT NOT NULL,
    subject_ref   TEXT,
    request_ref   TEXT,
    counts        JSONB NOT NULL,
    created_at    BIGINT NOT NULL,
    previous_hash TEXT NOT NULL,
    hash          TEXT NOT NULL
);
CREATE INDEX audit_events_by_organization ON audit_events (org_id, sequence);

-- ===== Jobs =====

-- `weight` says how much a job that gathers has gathered.
-- The queue changes all the time and stays small: its dead rows are in the way of every claim long before a fifth of the
-- table is dead. Room on its pages lets leases change in place.
CREATE TABLE jobs (
    job_id       TEXT NOT NULL,
    org_id       TEXT NOT NULL,
    subject      UUID NOT NULL,
    epoch        BIGINT,
    kind         TEXT NOT NULL,
    parent_id    TEXT,
    payload      JSONB NOT NULL,
    weight       BIGINT NOT NULL DEFAULT 0,
    dedupe_key   TEXT,
    state        TEXT NOT NULL CHECK (state IN ('open', 'done', 'dead', 'cancelled')),
    run_at       BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    max_attempts BIGINT NOT NULL,
    lease_until  BIGINT,
    lease_token  TEXT,
    moves        BIGINT NOT NULL,
    last_error   TEXT,
    created_at   BIGINT NOT NULL,
    finished_at  BIGINT,
    PRIMARY KEY (job_id, subject)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 200,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
CREATE UNIQUE INDEX jobs_dedupe ON jobs (org_id, kind, dedupe_key, subject)
    WHERE state = 'open' AND dedupe_key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (run_at, job_id) WHERE state = 'open';
CREATE INDEX jobs_parent ON jobs (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX jobs_open_children ON jobs (parent_id, job_id) WHERE state = 'open' AND parent_id IS NOT NULL;
CREATE INDEX jobs_user ON jobs (org_id, subject);
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
-- An organization's jobs that gave up, the newest first.
CREATE INDEX jobs_dead ON jobs (org_id, finished_at, job_id) WHERE state = 'dead';
