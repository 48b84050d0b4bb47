-- Grain: one row a recorded run and task: the verdict of the task's own solution in that run.
with

files as (select record, run, model, split, subset, file from stored.run_files where artifact = 'ground_truth'),

executed as (select * from stored.execution)

select files.* exclude (file), executed.* exclude (artifact, file, sample_index, variant, sanitizer)
from files join executed using (file)
