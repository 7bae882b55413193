-- A session belongs to an experiment when any of its requests names it, and its output tokens are those of the whole
-- session: a request without attribution, too, changes what is counted of a session that has some.
CREATE INDEX requests_by_experiment ON requests (org_id, subject, session_id, retrieval_experiment_id)
    WHERE retrieval_experiment_id IS NOT NULL;

CREATE OR REPLACE FUNCTION stale_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM experiment_mark(e.org_id, e.experiment_id, NEW.subject) FROM experiments e
      WHERE e.org_id = NEW.org_id
        AND EXISTS (SELECT 1 FROM requests r
                     WHERE r.org_id = NEW.org_id AND r.subject = NEW.subject AND r.session_id = NEW.session_id
                       AND r.retrieval_experiment_id = e.experiment_id);
    RETURN NULL;
END $$;
DROP TRIGGER stale_request_insert ON requests;
CREATE TRIGGER stale_request_insert AFTER INSERT ON requests FOR EACH ROW EXECUTE FUNCTION stale_request();

-- Sums that left out sessions which began before the first search or ended after the stop are made anew.
INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1 FROM experiment_user_sums u
  JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
ON CONFLICT DO NOTHING;

-- Looks are made in another way: what they had in common before is nothing that new ones could go on from.
UPDATE experiment_looks SET lower = NULL, upper = NULL, p_value = NULL;
