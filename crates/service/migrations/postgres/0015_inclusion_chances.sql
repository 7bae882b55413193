-- The chance that a session had to be judged, in 10,000ths: rates count each verdict by its inverse where chances differ.
-- 0: somebody asked for the verdict of a session that was not drawn, which stands for nobody else.
ALTER TABLE evaluation_results ADD COLUMN chance BIGINT NOT NULL DEFAULT 10000;
ALTER TABLE verdict_gaps ADD COLUMN chance BIGINT NOT NULL DEFAULT 10000;
ALTER TABLE evaluation_deltas ADD COLUMN chance BIGINT NOT NULL DEFAULT 10000;
ALTER TABLE gap_deltas ADD COLUMN chance BIGINT NOT NULL DEFAULT 10000;

-- Computed anew from the rows when the program starts.
DROP TABLE evaluation_rollups;
CREATE TABLE evaluation_rollups (
    org_id        TEXT NOT NULL,
    grain         BIGINT NOT NULL,
    start         BIGINT NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     BIGINT NOT NULL,
    chance        BIGINT NOT NULL,
    n             BIGINT NOT NULL,
    successes     BIGINT NOT NULL,
    system_errors BIGINT NOT NULL,
    corrections   BIGINT NOT NULL,
    corrected_0   BIGINT NOT NULL,
    corrected_1   BIGINT NOT NULL,
    corrected_2   BIGINT NOT NULL,
    corrected_3   BIGINT NOT NULL,
    corrected_4   BIGINT NOT NULL,
    corrected_5   BIGINT NOT NULL,
    turns_n       BIGINT NOT NULL,
    turns         BIGINT NOT NULL,
    escalations   BIGINT NOT NULL,
    by_rules      BIGINT NOT NULL,
    user_groups   TEXT NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest, chance)
);

DROP TABLE gap_rollups;
CREATE TABLE gap_rollups (
    org_id        TEXT NOT NULL,
    grain         BIGINT NOT NULL,
    start         BIGINT NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     BIGINT NOT NULL,
    chance        BIGINT NOT NULL,
    n             BIGINT NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest, chance)
);
