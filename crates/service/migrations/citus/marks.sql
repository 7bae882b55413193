-- The functions behind the triggers that mark users of experiments as stale, for Citus. There they run on shards: a
-- table beside the shard is known by the name that beside() gives. What they do is as in postgres/0001_schema.sql.
-- `@.` stands for the schema. Made anew when tables are placed, and when VERSION in marks.rs is raised.

CREATE OR REPLACE FUNCTION @.experiment_mark_beside(shard TEXT, of_org TEXT, of_experiment TEXT, of_subject UUID)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'INSERT INTO ' || @.beside(shard, 'experiment_stale_users') || ' AS m
                 (org_id, experiment_id, subject, epoch, marks)
             SELECT s.org_id, $2, s.subject, s.epoch, 1 FROM ' || @.beside(shard, 'subjects') || $q$ s
              WHERE s.org_id = $1 AND s.subject = $3 AND s.state = 'active'
             ON CONFLICT (org_id, experiment_id, subject)
             DO UPDATE SET marks = m.marks + 1, epoch = excluded.epoch$q$
    USING of_org, of_experiment, of_subject;
END $$;

CREATE OR REPLACE FUNCTION @.stale_request() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_experiment TEXT;
    is_of_any BOOLEAN := NEW.retrieval_experiment_id IS NOT NULL;
BEGIN
    -- Most sessions are of none, which a smaller statement says sooner.
    IF NOT is_of_any THEN
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.%I WHERE org_id = $1 AND subject = $2 AND session_id = $3
                                          AND retrieval_experiment_id IS NOT NULL)', TG_TABLE_SCHEMA, TG_TABLE_NAME)
            INTO is_of_any USING NEW.org_id, NEW.subject, NEW.session_id;
        IF NOT is_of_any THEN RETURN NULL; END IF;
    END IF;
    FOR of_experiment IN EXECUTE
        'SELECT e.experiment_id FROM ' || @.beside(TG_TABLE_NAME, 'experiments') || ' e
          WHERE e.org_id = $1
            AND EXISTS (SELECT 1 FROM ' || @.beside(TG_TABLE_NAME, 'requests') || ' r
                         WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3
                           AND r.retrieval_experiment_id = e.experiment_id)'
        USING NEW.org_id, NEW.subject, NEW.session_id
    LOOP
        PERFORM @.experiment_mark_beside(TG_TABLE_NAME, NEW.org_id, of_experiment, NEW.subject);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION @.stale_exposure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM @.experiment_mark_beside(TG_TABLE_NAME, NEW.org_id, NEW.experiment_id, NEW.subject);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION @.stale_verdict() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_experiment TEXT;
BEGIN
    FOR of_experiment IN EXECUTE
        'SELECT e.experiment_id FROM ' || @.beside(TG_TABLE_NAME, 'experiments') || ' e
          WHERE e.org_id = $1
            AND (($4 >= e.started_at - 2592000 AND $4 <= COALESCE(e.ended_at, $4))
                 OR ($5 AND EXISTS (
                        SELECT 1 FROM ' || @.beside(TG_TABLE_NAME, 'experiment_user_sums') || ' u
                         WHERE u.org_id = e.org_id AND u.experiment_id = e.experiment_id AND u.subject = $2))
                 OR EXISTS (SELECT 1 FROM ' || @.beside(TG_TABLE_NAME, 'requests') || ' r
                             WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3
                               AND r.retrieval_experiment_id = e.experiment_id))'
        USING NEW.org_id, NEW.subject, NEW.session_id, NEW.created_at, TG_OP = 'UPDATE'
    LOOP
        PERFORM @.experiment_mark_beside(TG_TABLE_NAME, NEW.org_id, of_experiment, NEW.subject);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION @.stale_summed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed RECORD;
    of_experiment TEXT;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    FOR of_experiment IN EXECUTE
        'SELECT u.experiment_id FROM ' || @.beside(TG_TABLE_NAME, 'experiment_user_sums') || ' u
          WHERE u.org_id = $1 AND u.subject = $2'
        USING changed.org_id, changed.subject
    LOOP
        PERFORM @.experiment_mark_beside(TG_TABLE_NAME, changed.org_id, of_experiment, changed.subject);
    END LOOP;
    RETURN NULL;
END $$;
