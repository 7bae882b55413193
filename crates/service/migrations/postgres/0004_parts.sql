-- The users of an experiment are in 256 parts: a part whose hashes of lines have the same sum as before is not read
-- again. Lines from before are in part 0, and move to their own when they are summed up anew.
ALTER TABLE experiment_user_sums ADD COLUMN part BIGINT NOT NULL DEFAULT 0;
ALTER TABLE experiment_user_sums ADD COLUMN sums_hash BIGINT NOT NULL DEFAULT 0;
-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS experiment_user_sums_parts
    ON experiment_user_sums (org_id, experiment_id, part, sums_hash);
