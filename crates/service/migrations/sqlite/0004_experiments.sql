-- Holdout experiments on retrieval: the experiments themselves, who was exposed to what, and per-user sums.

-- One row per experiment, numbered in the order of their starts. At most one of an organization is active.
CREATE TABLE experiments (
    org_id                   TEXT NOT NULL,
    experiment_id            TEXT NOT NULL,
    number                   INTEGER NOT NULL,
    holdout_percentage       REAL NOT NULL CHECK (holdout_percentage > 0 AND holdout_percentage < 100),
    planned_users            INTEGER NOT NULL,
    margin_percentage_points REAL NOT NULL,
    started_at               INTEGER NOT NULL,
    ended_at                 INTEGER,
    PRIMARY KEY (org_id, experiment_id),
    UNIQUE (org_id, number)
) STRICT;
CREATE UNIQUE INDEX experiments_active ON experiments (org_id) WHERE ended_at IS NULL;

-- What one session of a user was served, or would have been. Searches are summed, so rows grow with sessions, not
-- with searches. session_id is empty where the search named none.
CREATE TABLE experiment_exposures (
    org_id              TEXT NOT NULL,
    subject             BLOB NOT NULL,
    session_id          TEXT NOT NULL,
    experiment_id       TEXT NOT NULL,
    epoch               INTEGER NOT NULL,
    number              INTEGER NOT NULL,
    arm                 TEXT NOT NULL CHECK (arm IN ('treatment', 'holdout')),
    first_exposed_at    INTEGER NOT NULL,
    last_exposed_at     INTEGER NOT NULL,
    searches            INTEGER NOT NULL,
    found               INTEGER NOT NULL,
    served              INTEGER NOT NULL,
    served_new          INTEGER NOT NULL,
    served_from_holdout INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, experiment_id)
) STRICT, WITHOUT ROWID;

-- What the analysis needs of one user, as one line of integers (src/experiments/sums.rs). Made from the rows of the
-- other tables and never changed by hand: a user who is in experiment_stale_users is summed up anew before use.
CREATE TABLE experiment_user_sums (
    org_id        TEXT NOT NULL,
    experiment_id TEXT NOT NULL,
    subject       BLOB NOT NULL,
    epoch         INTEGER NOT NULL,
    contaminated  INTEGER NOT NULL,
    sums          TEXT NOT NULL,
    PRIMARY KEY (org_id, experiment_id, subject)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX experiment_user_sums_of ON experiment_user_sums (org_id, subject, experiment_id);
CREATE INDEX experiment_user_sums_contaminated ON experiment_user_sums (org_id, experiment_id, subject)
    WHERE contaminated > 0;

CREATE TABLE experiment_stale_users (
    org_id        TEXT NOT NULL,
    experiment_id TEXT NOT NULL,
    subject       BLOB NOT NULL,
    epoch         INTEGER NOT NULL,
    marks         INTEGER NOT NULL,
    PRIMARY KEY (org_id, experiment_id, subject)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX experiment_stale_users_of ON experiment_stale_users (org_id, subject, experiment_id);

-- The combinations of source, agent version and judge that sums refer to by number.
CREATE TABLE experiment_strata (
    org_id         TEXT NOT NULL,
    experiment_id  TEXT NOT NULL,
    stratum        INTEGER NOT NULL,
    source         TEXT NOT NULL,
    agent_version  TEXT NOT NULL,
    judge          TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    PRIMARY KEY (org_id, experiment_id, stratum),
    UNIQUE (org_id, experiment_id, source, agent_version, judge, prompt_version)
) STRICT;

-- All looks at an experiment so far, taken together.
CREATE TABLE experiment_looks (
    org_id        TEXT NOT NULL,
    experiment_id TEXT NOT NULL,
    lower         REAL,
    upper         REAL,
    p_value       REAL,
    exposed_p     REAL NOT NULL,
    published_p   REAL NOT NULL,
    evaluated_p   REAL NOT NULL,
    triggered_p   REAL NOT NULL,
    PRIMARY KEY (org_id, experiment_id)
) STRICT;

-- Whatever changes what an experiment counts marks the user, by whatever code it is changed.

CREATE TRIGGER stale_request_insert AFTER INSERT ON requests WHEN NEW.retrieval_experiment_id IS NOT NULL
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    VALUES (NEW.org_id, NEW.retrieval_experiment_id, NEW.subject, NEW.epoch, 1) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_exposure_insert AFTER INSERT ON experiment_exposures
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    VALUES (NEW.org_id, NEW.experiment_id, NEW.subject, NEW.epoch, 1) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_exposure_update AFTER UPDATE ON experiment_exposures
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    VALUES (NEW.org_id, NEW.experiment_id, NEW.subject, NEW.epoch, 1) ON CONFLICT DO NOTHING;
END;

-- A verdict counts in every experiment whose window, or the thirty days before it, the session began in, and in
-- those that its requests name.
CREATE TRIGGER stale_verdict_insert AFTER INSERT ON evaluation_results WHEN NEW.evaluation_name = 'agent_success'
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT e.org_id, e.experiment_id, NEW.subject, NEW.epoch, 1 FROM experiments e
     WHERE e.org_id = NEW.org_id
       AND ((NEW.created_at >= e.started_at - 2592000 AND NEW.created_at <= COALESCE(e.ended_at, NEW.created_at))
            OR EXISTS (SELECT 1 FROM requests r
                        WHERE r.org_id = NEW.org_id AND r.subject = NEW.subject AND r.session_id = NEW.session_id
                          AND r.retrieval_experiment_id = e.experiment_id))
    ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_verdict_update AFTER UPDATE ON evaluation_results WHEN NEW.evaluation_name = 'agent_success'
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT e.org_id, e.experiment_id, NEW.subject, NEW.epoch, 1 FROM experiments e
     WHERE e.org_id = NEW.org_id
       AND ((NEW.created_at >= e.started_at - 2592000 AND NEW.created_at <= COALESCE(e.ended_at, NEW.created_at))
            OR EXISTS (SELECT 1 FROM experiment_user_sums u
                        WHERE u.org_id = e.org_id AND u.experiment_id = e.experiment_id AND u.subject = NEW.subject)
            OR EXISTS (SELECT 1 FROM requests r
                        WHERE r.org_id = NEW.org_id AND r.subject = NEW.subject AND r.session_id = NEW.session_id
                          AND r.retrieval_experiment_id = e.experiment_id))
    ON CONFLICT DO NOTHING;
END;

-- What goes, and what people say of a session, matters to those who are summed up already. Nothing is marked for
-- someone who is being erased: their sums go as well.

CREATE TRIGGER stale_verdict_delete AFTER DELETE ON evaluation_results
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = OLD.org_id AND u.subject = OLD.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_request_delete AFTER DELETE ON requests
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = OLD.org_id AND u.subject = OLD.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_interaction_delete AFTER DELETE ON interactions
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = OLD.org_id AND u.subject = OLD.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_exposure_delete AFTER DELETE ON experiment_exposures
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = OLD.org_id AND u.subject = OLD.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_label_insert AFTER INSERT ON session_labels
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, NEW.epoch, 1 FROM experiment_user_sums u
     WHERE u.org_id = NEW.org_id AND u.subject = NEW.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_label_update AFTER UPDATE ON session_labels
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, NEW.epoch, 1 FROM experiment_user_sums u
     WHERE u.org_id = NEW.org_id AND u.subject = NEW.subject ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_label_delete AFTER DELETE ON session_labels
BEGIN
    INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
    SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
      JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
     WHERE u.org_id = OLD.org_id AND u.subject = OLD.subject ON CONFLICT DO NOTHING;
END;
