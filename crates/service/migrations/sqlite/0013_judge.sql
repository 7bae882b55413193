-- A judge may abstain: the decision says so, and a session that was due and has no verdict is counted.

CREATE TABLE evaluation_decisions_with_abstentions (
    org_id     TEXT NOT NULL,
    subject    BLOB NOT NULL,
    session_id TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    decision   TEXT NOT NULL CHECK (decision IN ('sampled_out', 'skipped', 'failed', 'undecided', 'judged')),
    reason     TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
) STRICT;
INSERT INTO evaluation_decisions_with_abstentions (org_id, subject, session_id, epoch, decision, reason, decided_at)
SELECT org_id, subject, session_id, epoch, decision, reason, decided_at FROM evaluation_decisions;
DROP TABLE evaluation_decisions;
ALTER TABLE evaluation_decisions_with_abstentions RENAME TO evaluation_decisions;
-- The triggers of 0011 went with the old table.
CREATE TRIGGER stale_decision_insert AFTER INSERT ON evaluation_decisions
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, NEW.epoch, 1 FROM experiment_user_sums u
     WHERE u.org_id = NEW.org_id AND u.subject = NEW.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_decision_update AFTER UPDATE ON evaluation_decisions WHEN NEW.decision <> OLD.decision
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, NEW.epoch, 1 FROM experiment_user_sums u
     WHERE u.org_id = NEW.org_id AND u.subject = NEW.subject ON CONFLICT DO NOTHING;
END;

-- The learned judge's calibrated probability of success.
ALTER TABLE evaluation_results ADD COLUMN probability REAL;

-- Sessions that were due and have no verdict of success on this version of the agent. result_id is that of the verdict
-- that was withdrawn, if there was one, for the next. (interaction_count, last_interaction_id) as in evaluation_results.
CREATE TABLE verdict_gaps (
    org_id              TEXT NOT NULL,
    subject             BLOB NOT NULL,
    session_id          TEXT NOT NULL,
    agent_version       TEXT NOT NULL,
    epoch               INTEGER NOT NULL,
    cause               TEXT NOT NULL CHECK (cause IN ('undecided', 'failed')),
    reason              TEXT NOT NULL,
    probability         REAL,
    result_id           INTEGER,
    learning_status     TEXT NOT NULL,
    source              TEXT NOT NULL,
    created_at          INTEGER NOT NULL,
    judged_at           INTEGER NOT NULL,
    is_newest           INTEGER NOT NULL CHECK (is_newest IN (0, 1)),
    interaction_count   INTEGER NOT NULL,
    last_interaction_id INTEGER NOT NULL,
    judge               TEXT NOT NULL,
    prompt_version      TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, agent_version)
) STRICT;
CREATE INDEX verdict_gaps_recent ON verdict_gaps (org_id, created_at);

-- Verdicts of the rules on their own, which have no success rate.
ALTER TABLE evaluation_rollups ADD COLUMN by_rules INTEGER NOT NULL DEFAULT 0;
ALTER TABLE evaluation_deltas ADD COLUMN by_rules INTEGER NOT NULL DEFAULT 0;

CREATE TABLE gap_rollups (
    org_id        TEXT NOT NULL,
    grain         INTEGER NOT NULL,
    start         INTEGER NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     INTEGER NOT NULL,
    n             INTEGER NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest)
) STRICT, WITHOUT ROWID;

CREATE TABLE gap_deltas (
    delta_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id        TEXT NOT NULL,
    hour          INTEGER NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     INTEGER NOT NULL,
    n             INTEGER NOT NULL
) STRICT;
CREATE INDEX gap_deltas_at ON gap_deltas (org_id, hour);

-- Sums of an experiment count the sessions without a verdict.
CREATE TRIGGER stale_gap_insert AFTER INSERT ON verdict_gaps
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = NEW.org_id AND u.subject = NEW.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_gap_update AFTER UPDATE ON verdict_gaps
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = NEW.org_id AND u.subject = NEW.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_gap_delete AFTER DELETE ON verdict_gaps
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = OLD.org_id AND u.subject = OLD.subject ON CONFLICT DO NOTHING;
END;

-- The line of a user's sums has more numbers.
INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
  JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
 WHERE TRUE ON CONFLICT DO NOTHING;

-- Models that organizations' own labels and outcomes trained. What a deleted one knew is gone (model is empty); its
-- number is never given again. comparison: of the last candidate with this one, as JSON.
CREATE TABLE judge_models (
    org_id          TEXT NOT NULL,
    number          INTEGER NOT NULL,
    model           TEXT NOT NULL,
    is_current      INTEGER NOT NULL CHECK (is_current IN (0, 1)),
    labels          INTEGER NOT NULL,
    trained_at      INTEGER NOT NULL,
    compared_at     INTEGER NOT NULL,
    compared_labels INTEGER NOT NULL,
    comparison      TEXT,
    PRIMARY KEY (org_id, number)
) STRICT;
CREATE UNIQUE INDEX judge_models_in_use ON judge_models (org_id) WHERE is_current;

-- The sessions that a model learned from. out_of_fold: what it says of them without having seen their users.
CREATE TABLE model_training (
    org_id       TEXT NOT NULL,
    subject      BLOB NOT NULL,
    session_id   TEXT NOT NULL,
    model_number INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    is_success   INTEGER NOT NULL CHECK (is_success IN (0, 1)),
    truth        TEXT NOT NULL CHECK (truth IN ('label', 'outcome')),
    out_of_fold  REAL NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, model_number)
) STRICT;

-- Sessions that the review queue drew. chance: of the random half, the chance of its stratum to be drawn so far.
CREATE TABLE review_draws (
    org_id     TEXT NOT NULL,
    subject    BLOB NOT NULL,
    session_id TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    half       TEXT NOT NULL CHECK (half IN ('random', 'informative')),
    stratum    TEXT NOT NULL,
    chance     REAL,
    drawn_at   INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
) STRICT;
CREATE INDEX review_draws_by_stratum ON review_draws (org_id, stratum);

-- A judgement that is under way and is paid for: the job that makes it. Stale once that job's lease has ended.
CREATE TABLE judgements_under_way (
    org_id      TEXT NOT NULL,
    subject     BLOB NOT NULL,
    session_id  TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    job_id      TEXT NOT NULL,
    lease_token TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id)
) STRICT;
