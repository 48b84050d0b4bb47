-- Grain: one row a recorded run, task, sample_index, variant and sanitizer.
with

records as (select record, run, execution_key from runs),

executed as (select * from execution)

select records.record, records.run, executed.* exclude (artifact)
from records join executed on executed.artifact = records.execution_key
