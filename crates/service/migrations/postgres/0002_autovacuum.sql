-- A month of a year's turns is a few percent of the table: with the usual fifth, the room of deleted rows would be
-- found again months later. Rows of requests and turns are never changed, so the first look at them is the last
-- that they need.
ALTER TABLE interactions SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_freeze_min_age = 0
);
ALTER TABLE requests SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_freeze_min_age = 0
);
ALTER TABLE sessions SET (
    autovacuum_vacuum_scale_factor = 0.02
);
