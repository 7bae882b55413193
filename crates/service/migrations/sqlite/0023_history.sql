-- What an experiment is for, in the words of those who run it.
ALTER TABLE experiments ADD COLUMN hypothesis TEXT NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN notes TEXT NOT NULL DEFAULT '';

-- The last look of every day (UTC) at an experiment while it ran, in percentage points.
CREATE TABLE experiment_daily_looks (
    org_id          TEXT NOT NULL,
    experiment_id   TEXT NOT NULL,
    day             INTEGER NOT NULL,
    lift            REAL NOT NULL,
    lower           REAL,
    upper           REAL,
    treatment_users INTEGER NOT NULL,
    holdout_users   INTEGER NOT NULL,
    PRIMARY KEY (org_id, experiment_id, day)
) STRICT, WITHOUT ROWID;

-- What an organization paid, by day.
CREATE INDEX evaluation_results_paid ON evaluation_results (org_id, evaluated_at, cost_usd) WHERE cost_usd > 0;
CREATE INDEX learning_verdicts_paid ON learning_verdicts (org_id, created_at, cost_usd) WHERE cost_usd > 0;
CREATE INDEX shadow_verdicts_paid ON shadow_verdicts (org_id, judged_at, cost_usd) WHERE cost_usd > 0;
CREATE INDEX candidate_verdicts_paid ON candidate_verdicts (org_id, evaluated_at, cost_usd) WHERE cost_usd > 0;
CREATE INDEX learning_windows_paid ON learning_windows (org_id, processed_at, cost_usd) WHERE cost_usd > 0;
