-- Model, tokens, cost and latency of the call behind a turn.
ALTER TABLE interactions ADD COLUMN usage TEXT;
