-- The chance that a session had to be judged, in 10,000ths: rates count each verdict by its inverse where chances differ.
-- 0: somebody asked for the verdict of a session that was not drawn, which stands for nobody else.
ALTER TABLE evaluation_results ADD COLUMN chance INTEGER NOT NULL DEFAULT 10000;
ALTER TABLE verdict_gaps ADD COLUMN chance INTEGER NOT NULL DEFAULT 10000;
ALTER TABLE evaluation_deltas ADD COLUMN chance INTEGER NOT NULL DEFAULT 10000;
ALTER TABLE gap_deltas ADD COLUMN chance INTEGER NOT NULL DEFAULT 10000;

-- Computed anew from the rows when the program starts.
DROP TABLE evaluation_rollups;
CREATE TABLE evaluation_rollups (
    org_id        TEXT NOT NULL,
    grain         INTEGER NOT NULL,
    start         INTEGER NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     INTEGER NOT NULL,
    chance        INTEGER NOT NULL,
    n             INTEGER NOT NULL,
    successes     INTEGER NOT NULL,
    system_errors INTEGER NOT NULL,
    corrections   INTEGER NOT NULL,
    corrected_0   INTEGER NOT NULL,
    corrected_1   INTEGER NOT NULL,
    corrected_2   INTEGER NOT NULL,
    corrected_3   INTEGER NOT NULL,
    corrected_4   INTEGER NOT NULL,
    corrected_5   INTEGER NOT NULL,
    turns_n       INTEGER NOT NULL,
    turns         INTEGER NOT NULL,
    escalations   INTEGER NOT NULL,
    by_rules      INTEGER NOT NULL,
    user_groups   TEXT NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest, chance)
) STRICT, WITHOUT ROWID;

DROP TABLE gap_rollups;
CREATE TABLE gap_rollups (
    org_id        TEXT NOT NULL,
    grain         INTEGER NOT NULL,
    start         INTEGER NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     INTEGER NOT NULL,
    chance        INTEGER NOT NULL,
    n             INTEGER NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest, chance)
) STRICT, WITHOUT ROWID;
