-- A session that sampling left out is not unknown to an experiment: it counts neither in the evaluation rates of the
-- arms nor in the worst case. So a decision about a session marks its user, if they are summed up already.
CREATE TRIGGER stale_decision_insert AFTER INSERT ON evaluation_decisions FOR EACH ROW
    EXECUTE FUNCTION stale_summed();
CREATE TRIGGER stale_decision_update AFTER UPDATE ON evaluation_decisions FOR EACH ROW
    WHEN (NEW.decision <> OLD.decision) EXECUTE FUNCTION stale_summed();
