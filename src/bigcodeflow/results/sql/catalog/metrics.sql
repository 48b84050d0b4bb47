-- Grain: one row a recorded run, variant, sanitizer, slice, metric and k: every figure of every run.
with

records as (select record, run, model, aggregation_key from runs),

figures as (select * from stored.metrics)

select records.* exclude (aggregation_key), figures.* exclude (artifact)
from records join figures on figures.artifact = records.aggregation_key
