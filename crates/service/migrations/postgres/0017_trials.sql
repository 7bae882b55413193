-- Times in which neither the text nor the share of a playbook on trial changes. The organization's own.
CREATE TABLE trial_epochs (
    org_id            TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    epoch_no          BIGINT NOT NULL,
    digest            TEXT NOT NULL,
    share             BIGINT NOT NULL,
    is_settled        BOOLEAN NOT NULL,
    planned_users     BIGINT NOT NULL,
    started_at        BIGINT NOT NULL,
    PRIMARY KEY (org_id, agent_playbook_id, epoch_no)
);

-- Playbooks that were found for a user in a session, and whether they were withheld.
CREATE TABLE trial_exposures (
    org_id            TEXT NOT NULL,
    subject           UUID NOT NULL,
    session_id        TEXT NOT NULL,
    agent_playbook_id BIGINT NOT NULL,
    epoch_no          BIGINT NOT NULL,
    epoch             BIGINT NOT NULL,
    withheld          BOOLEAN NOT NULL,
    found_rank        BIGINT NOT NULL,
    found_at          BIGINT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, agent_playbook_id, epoch_no)
);
CREATE INDEX trial_exposures_of ON trial_exposures (org_id, agent_playbook_id, found_at);
