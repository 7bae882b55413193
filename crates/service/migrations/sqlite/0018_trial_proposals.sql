-- Proposals to reject a playbook that a trial found to hurt, with what the trial found.
DROP TRIGGER forget_drafts;
ALTER TABLE tuning_proposals RENAME COLUMN action TO first_actions;
ALTER TABLE tuning_proposals ADD COLUMN action TEXT NOT NULL DEFAULT 'archive'
    CHECK (action IN ('archive', 'edit', 'reject'));
UPDATE tuning_proposals SET action = first_actions;
ALTER TABLE tuning_proposals DROP COLUMN first_actions;
ALTER TABLE tuning_proposals ADD COLUMN trial TEXT;

CREATE TRIGGER forget_drafts AFTER DELETE ON tuning_evidence BEGIN
    UPDATE tuning_proposals
       SET content = '', "trigger" = '', rationale = 'What it was drafted from is gone.', drafted_by = 'rules',
           action = CASE WHEN status = 'open' THEN 'archive' ELSE action END
     WHERE proposal_id = OLD.proposal_id AND subject IS NULL AND action = 'edit';
END;
