-- Shadow comparisons, rules that sessions cite, imported scores, and the sums that the overview reads.

-- What a verdict is counted under: the source and time of its session's first request (triggers keep them true), and
-- whether it is the newest verdict of success on its session, so that sessions are counted once.
ALTER TABLE evaluation_results DROP COLUMN regular_vs_shadow;
ALTER TABLE evaluation_results ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE evaluation_results ADD COLUMN is_newest INTEGER NOT NULL DEFAULT 0 CHECK (is_newest IN (0, 1));
CREATE INDEX evaluation_results_by_source ON evaluation_results
    (org_id, source, created_at, result_id, subject, session_id, is_newest) WHERE is_newest;

-- One row per rule that a judged session cites, with how the session went.
CREATE TABLE cited_rules (
    org_id     TEXT NOT NULL,
    subject    BLOB NOT NULL,
    session_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    rule_id    TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    title      TEXT NOT NULL,
    source     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    is_success INTEGER NOT NULL CHECK (is_success IN (0, 1)),
    PRIMARY KEY (org_id, subject, session_id, kind, rule_id)
) STRICT;
CREATE INDEX cited_rules_recent ON cited_rules (org_id, created_at);
CREATE INDEX cited_rules_of ON cited_rules (org_id, kind, rule_id, created_at, subject, session_id);

-- Rows of people who are being erased stay as they are: the wall would refuse the change, and they go anyway.
UPDATE evaluation_results SET
    source = COALESCE((SELECT s.source FROM sessions s WHERE s.org_id = evaluation_results.org_id
        AND s.subject = evaluation_results.subject AND s.session_id = evaluation_results.session_id), ''),
    created_at = COALESCE((SELECT s.first_request_at FROM sessions s WHERE s.org_id = evaluation_results.org_id
        AND s.subject = evaluation_results.subject AND s.session_id = evaluation_results.session_id), created_at),
    is_newest = evaluation_name = 'agent_success' AND NOT EXISTS (
        SELECT 1 FROM evaluation_results n WHERE n.org_id = evaluation_results.org_id
           AND n.subject = evaluation_results.subject AND n.session_id = evaluation_results.session_id
           AND n.evaluation_name = evaluation_results.evaluation_name
           AND (n.evaluated_at, n.result_id) > (evaluation_results.evaluated_at, evaluation_results.result_id))
WHERE EXISTS (SELECT 1 FROM subjects a WHERE a.org_id = evaluation_results.org_id
    AND a.subject = evaluation_results.subject AND a.state = 'active' AND a.epoch = evaluation_results.epoch);
INSERT INTO cited_rules (org_id, subject, session_id, kind, rule_id, epoch, title, source, created_at, is_success)
SELECT r.org_id, r.subject, r.session_id, json_extract(c.value, '$.kind'), json_extract(c.value, '$.real_id'),
       r.epoch, json_extract(c.value, '$.title'), r.source, r.created_at, r.is_success
FROM evaluation_results r
JOIN interactions i ON i.org_id = r.org_id AND i.subject = r.subject AND i.session_id = r.session_id
JOIN json_each(i.citations) c
WHERE r.is_newest
ORDER BY i.created_at DESC, i.interaction_id DESC
ON CONFLICT DO NOTHING;

-- One verdict per (turn, rubric). created_at is the turn's, judged_at the judgement's. order_consistent is null when
-- the pair was judged in one order only.
CREATE TABLE shadow_verdicts (
    verdict_id              INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id                  TEXT NOT NULL,
    subject                 BLOB NOT NULL,
    session_id              TEXT NOT NULL,
    interaction_id          INTEGER NOT NULL,
    judge_prompt_version    TEXT NOT NULL,
    epoch                   INTEGER NOT NULL,
    agent_version           TEXT NOT NULL,
    service_is_request_1    INTEGER NOT NULL CHECK (service_is_request_1 IN (0, 1)),
    better_request          TEXT NOT NULL CHECK (better_request IN ('1', '2', 'tie')),
    is_significantly_better INTEGER NOT NULL CHECK (is_significantly_better IN (0, 1)),
    comparison_reason       TEXT NOT NULL,
    order_consistent        INTEGER CHECK (order_consistent IN (0, 1)),
    created_at              INTEGER NOT NULL,
    judged_at               INTEGER NOT NULL,
    judge                   TEXT NOT NULL,
    rubric_hash             TEXT NOT NULL,
    input_tokens            INTEGER NOT NULL,
    output_tokens           INTEGER NOT NULL,
    cost_usd                REAL,
    latency_ms              INTEGER NOT NULL,
    attempts                INTEGER NOT NULL,
    UNIQUE (org_id, subject, session_id, interaction_id, judge_prompt_version)
) STRICT;
CREATE INDEX shadow_verdicts_recent ON shadow_verdicts (org_id, judge_prompt_version, created_at, verdict_id);

-- What a session's shadow verdicts of one rubric come to.
CREATE TABLE shadow_sessions (
    org_id               TEXT NOT NULL,
    subject              BLOB NOT NULL,
    session_id           TEXT NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    epoch                INTEGER NOT NULL,
    source               TEXT NOT NULL,
    created_at           INTEGER NOT NULL,
    regular_vs_shadow    TEXT NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, judge_prompt_version)
) STRICT;
CREATE INDEX shadow_sessions_recent ON shadow_sessions (org_id, judge_prompt_version, created_at);

-- Scores that other programs gave to sessions.
CREATE TABLE imported_scores (
    org_id        TEXT NOT NULL,
    subject       BLOB NOT NULL,
    session_id    TEXT NOT NULL,
    source_run_id TEXT NOT NULL,
    epoch         INTEGER NOT NULL,
    scorer_name   TEXT NOT NULL,
    value         REAL NOT NULL,
    ts            INTEGER NOT NULL,
    imported_at   INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, session_id, source_run_id)
) STRICT;
CREATE UNIQUE INDEX imported_scores_by_run ON imported_scores (org_id, source_run_id);
CREATE INDEX imported_scores_recent ON imported_scores (org_id, ts);

-- Sums over hours, days and weeks (UTC; weeks begin on Monday): `grain` seconds from `start`. Triggers keep them in
-- the transaction that changes a row. They name nobody; a line whose rows are all gone goes too.
CREATE TABLE evaluation_rollups (
    org_id        TEXT NOT NULL,
    grain         INTEGER NOT NULL,
    start         INTEGER NOT NULL,
    source        TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    n             INTEGER NOT NULL,
    sessions      INTEGER NOT NULL,
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
    PRIMARY KEY (org_id, grain, start, source, agent_version)
) STRICT, WITHOUT ROWID;

-- `source` is a source, or * for all of them.
CREATE TABLE rule_rollups (
    org_id    TEXT NOT NULL,
    grain     INTEGER NOT NULL,
    source    TEXT NOT NULL,
    start     INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    rule_id   TEXT NOT NULL,
    n         INTEGER NOT NULL,
    successes INTEGER NOT NULL,
    PRIMARY KEY (org_id, grain, source, start, kind, rule_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE shadow_session_rollups (
    org_id               TEXT NOT NULL,
    grain                INTEGER NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    start                INTEGER NOT NULL,
    source               TEXT NOT NULL,
    n                    INTEGER NOT NULL,
    regular_better       INTEGER NOT NULL,
    shadow_better        INTEGER NOT NULL,
    PRIMARY KEY (org_id, grain, judge_prompt_version, start, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE shadow_turn_rollups (
    org_id               TEXT NOT NULL,
    grain                INTEGER NOT NULL,
    judge_prompt_version TEXT NOT NULL,
    start                INTEGER NOT NULL,
    n                    INTEGER NOT NULL,
    wins                 INTEGER NOT NULL,
    losses               INTEGER NOT NULL,
    both_orders          INTEGER NOT NULL,
    flips                INTEGER NOT NULL,
    PRIMARY KEY (org_id, grain, judge_prompt_version, start)
) STRICT, WITHOUT ROWID;
