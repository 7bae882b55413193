-- Sums are folded from deltas. A trigger appends to a table of deltas what a row counts for, in the row's transaction;
-- a job adds the deltas up into the lines, and whoever reads adds what is not folded yet. So writers never wait for
-- each other's lines. Lines of verdicts and of shadow comparisons keep their sums by group of users as well.

-- One of 32 groups, by a hash of the user; -1 until it is known.
ALTER TABLE evaluation_results ADD COLUMN user_group INTEGER NOT NULL DEFAULT -1;
ALTER TABLE shadow_sessions ADD COLUMN user_group INTEGER NOT NULL DEFAULT -1;

DROP TABLE evaluation_rollups;
CREATE TABLE evaluation_rollups (
    org_id        TEXT NOT NULL,
    grain         INTEGER NOT NULL,
    start         INTEGER NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     INTEGER NOT NULL,
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
    user_groups   TEXT NOT NULL,
    PRIMARY KEY (org_id, grain, start, source, agent_version, is_newest)
) STRICT, WITHOUT ROWID;

DROP TABLE shadow_session_rollups;
CREATE TABLE shadow_session_rollups (
    org_id               TEXT NOT NULL,
    grain                INTEGER NOT NULL,
    start                INTEGER NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    source               TEXT NOT NULL,
    n                    INTEGER NOT NULL,
    regular_better       INTEGER NOT NULL,
    shadow_better        INTEGER NOT NULL,
    user_groups          TEXT NOT NULL,
    PRIMARY KEY (org_id, grain, judge_prompt_version, start, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE evaluation_deltas (
    delta_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id        TEXT NOT NULL,
    hour          INTEGER NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    is_newest     INTEGER NOT NULL,
    user_group    INTEGER NOT NULL,
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
    escalations   INTEGER NOT NULL
) STRICT;
CREATE INDEX evaluation_deltas_at ON evaluation_deltas (org_id, hour);

CREATE TABLE rule_deltas (
    delta_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id     TEXT NOT NULL,
    hour       INTEGER NOT NULL,
    source     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    rule_id    TEXT NOT NULL,
    n          INTEGER NOT NULL,
    successes  INTEGER NOT NULL
) STRICT;
CREATE INDEX rule_deltas_at ON rule_deltas (org_id, hour);

CREATE TABLE shadow_session_deltas (
    delta_id             INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id               TEXT NOT NULL,
    hour                 INTEGER NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    source               TEXT NOT NULL,
    user_group           INTEGER NOT NULL,
    n                    INTEGER NOT NULL,
    regular_better       INTEGER NOT NULL,
    shadow_better        INTEGER NOT NULL
) STRICT;
CREATE INDEX shadow_session_deltas_at ON shadow_session_deltas (org_id, hour);

CREATE TABLE shadow_turn_deltas (
    delta_id             INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id               TEXT NOT NULL,
    hour                 INTEGER NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    n                    INTEGER NOT NULL,
    wins                 INTEGER NOT NULL,
    losses               INTEGER NOT NULL,
    both_orders          INTEGER NOT NULL,
    flips                INTEGER NOT NULL
) STRICT;
CREATE INDEX shadow_turn_deltas_at ON shadow_turn_deltas (org_id, hour);

-- The last delta that was folded, of each table of deltas.
CREATE TABLE folded_deltas (
    deltas  TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL
) STRICT;
