-- Times in which neither the text nor the share of a playbook on trial changes. The organization's own.
CREATE TABLE trial_epochs (
    org_id            TEXT NOT NULL,
    agent_playbook_id INTEGER NOT NULL,
    epoch_no          INTEGER NOT NULL,
    digest            TEXT NOT NULL,
    share             INTEGER NOT NULL,
    is_settled        INTEGER NOT NULL,
    planned_users     INTEGER NOT NULL,
    started_at        INTEGER NOT NULL,
    PRIMARY KEY (org_id, agent_playbook_id, epoch_no)
) STRICT, WITHOUT ROWID;

-- Playbooks that were found for a user in a session, and whether they were withheld.
CREATE TABLE trial_exposures (
    org_id            TEXT NOT NULL,
    subject           BLOB NOT NULL,
    session_id        TEXT NOT NULL,
    agent_playbook_id INTEGER NOT NULL,
    epoch_no          INTEGER NOT NULL,
    epoch             INTEGER NOT NULL,
    withheld          INTEGER NOT NULL,
    found_rank        INTEGER NOT NULL,
    found_at          INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, agent_playbook_id, epoch_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX trial_exposures_of ON trial_exposures (org_id, agent_playbook_id, found_at);
