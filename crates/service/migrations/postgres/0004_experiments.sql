-- Holdout experiments on retrieval: the experiments themselves, who was exposed to what, and per-user sums.

-- One row per experiment, numbered in the order of their starts. At most one of an organization is active.
CREATE TABLE experiments (
    org_id                   TEXT NOT NULL,
    experiment_id            TEXT NOT NULL,
    number                   BIGINT NOT NULL,
    holdout_percentage       DOUBLE PRECISION NOT NULL CHECK (holdout_percentage > 0 AND holdout_percentage < 100),
    planned_users            BIGINT NOT NULL,
    margin_percentage_points DOUBLE PRECISION NOT NULL,
    started_at               BIGINT NOT NULL,
    ended_at                 BIGINT,
    PRIMARY KEY (org_id, experiment_id),
    UNIQUE (org_id, number)
);
CREATE UNIQUE INDEX experiments_active ON experiments (org_id) WHERE ended_at IS NULL;

-- What one session of a user was served, or would have been. Searches are summed, so rows grow with sessions, not
-- with searches. session_id is empty where the search named none.
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

-- What the analysis needs of one user, as one line of integers (src/experiments/sums.rs). Made from the rows of the
-- other tables and never changed by hand: a user who is in experiment_stale_users is summed up anew before use.
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

-- All looks at an experiment so far, taken together.
CREATE TABLE experiment_looks (
    org_id        TEXT NOT NULL,
    experiment_id TEXT NOT NULL,
    lower         DOUBLE PRECISION,
    upper         DOUBLE PRECISION,
    p_value       DOUBLE PRECISION,
    exposed_p     DOUBLE PRECISION NOT NULL,
    published_p   DOUBLE PRECISION NOT NULL,
    evaluated_p   DOUBLE PRECISION NOT NULL,
    triggered_p   DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (org_id, experiment_id)
);

-- Whatever changes what an experiment counts marks the user, by whatever code it is changed. A mark that is there
-- is counted up, which locks it: whoever sums the user up meanwhile passes them over, and their mark stays.

CREATE FUNCTION experiment_mark(of_org TEXT, of_experiment TEXT, of_subject UUID) RETURNS void LANGUAGE sql AS $$
    INSERT INTO experiment_stale_users AS m (org_id, experiment_id, subject, epoch, marks)
    SELECT s.org_id, of_experiment, s.subject, s.epoch, 1 FROM subjects s
     WHERE s.org_id = of_org AND s.subject = of_subject AND s.state = 'active'
    ON CONFLICT (org_id, experiment_id, subject) DO UPDATE SET marks = m.marks + 1, epoch = excluded.epoch
$$;

CREATE FUNCTION stale_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM experiment_mark(NEW.org_id, NEW.retrieval_experiment_id, NEW.subject);
    RETURN NULL;
END $$;
CREATE TRIGGER stale_request_insert AFTER INSERT ON requests FOR EACH ROW
    WHEN (NEW.retrieval_experiment_id IS NOT NULL) EXECUTE FUNCTION stale_request();

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

-- What goes, and what people say of a session, matters to those who are summed up already. Nothing is marked for
-- someone who is being erased: their sums go as well.
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
