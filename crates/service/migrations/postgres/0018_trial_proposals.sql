-- Proposals to reject a playbook that a trial found to hurt, with what the trial found.
ALTER TABLE tuning_proposals DROP CONSTRAINT tuning_proposals_action_check;
ALTER TABLE tuning_proposals ADD CONSTRAINT tuning_proposals_action_check
    CHECK (action IN ('archive', 'edit', 'reject'));
ALTER TABLE tuning_proposals ADD COLUMN trial JSONB;
