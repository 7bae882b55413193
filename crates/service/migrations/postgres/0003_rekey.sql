-- The governance key that somebody's subject was made with, of those who stayed behind when the others' rows were
-- given subjects under another one (`evenhand governance rekey`): their user id was gone. NULL: the present key.
ALTER TABLE subjects ADD COLUMN key_id TEXT;
-- Read at every start. Without a rekey this index is empty.
-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS subjects_behind ON subjects (key_id) WHERE key_id IS NOT NULL;
