-- Parts of the schema that programs make anew when they start, with the version that is there: a replica of an older
-- version leaves what a newer one made.
CREATE TABLE schema_parts (
    part    TEXT PRIMARY KEY,
    version BIGINT NOT NULL
);

CREATE INDEX jobs_open_children ON jobs (parent_id, job_id) WHERE state = 'open' AND parent_id IS NOT NULL;
-- Every search asks whether its person is being erased. This index is all but empty.
CREATE INDEX subjects_erasing ON subjects (org_id, subject) WHERE state = 'erasing';
