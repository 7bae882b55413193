-- A session that sampling left out is not unknown to an experiment: it counts neither in the evaluation rates of the
-- arms nor in the worst case. So a decision about a session marks its user, if they are summed up already.
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
