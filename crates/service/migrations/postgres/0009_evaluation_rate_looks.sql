-- The smallest p-value so far of the sequential test that both arms are judged equally often.
ALTER TABLE experiment_looks ADD COLUMN evaluation_rate_p DOUBLE PRECISION NOT NULL DEFAULT 1;
