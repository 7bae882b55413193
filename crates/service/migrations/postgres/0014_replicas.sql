-- Parts of the schema that programs make anew when they start, with the version that is there: a replica of an older
-- version leaves what a newer one made.
CREATE TABLE schema_parts (
    part    TEXT PRIMARY KEY,
    version BIGINT NOT NULL
);

-- The queue changes all the time and stays small: its dead rows are in the way of every claim long before a fifth of the
-- table is dead. Room on its pages lets leases change in place.
ALTER TABLE jobs SET (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 200,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_open_children ON jobs (parent_id, job_id)
    WHERE state = 'open' AND parent_id IS NOT NULL;
-- Every search asks whether its person is being erased. This index is all but empty.
CREATE INDEX CONCURRENTLY IF NOT EXISTS subjects_erasing ON subjects (org_id, subject) WHERE state = 'erasing';
