-- Grain: one row a recorded run and task: the verdict of the task's own solution in that run.
with

records as (select record, run, ground_truth_key from runs),

executed as (select * from execution)

select records.record, records.run, executed.* exclude (artifact, sample_index, variant, sanitizer)
from records join executed on executed.artifact = records.ground_truth_key
