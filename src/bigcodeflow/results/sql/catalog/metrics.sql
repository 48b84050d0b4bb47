-- Grain: one row a recorded run, variant, sanitizer, slice, metric and k: every figure of every run.
select record, run, model, figures.* exclude (artifact)
from runs join stored.metrics as figures on figures.artifact = runs.aggregation_key
