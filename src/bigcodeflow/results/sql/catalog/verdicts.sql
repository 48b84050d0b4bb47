-- Grain: one row a recorded run, task, sample_index, variant and sanitizer: what became of a sample.
with

files as (select record, run, model, split, subset, file from stored.run_files where artifact = 'execution'),

-- Joined by file, DuckDB opens only the files of the runs that are asked for.
executed as (select * from stored.execution)

select files.* exclude (file), executed.* exclude (artifact, file)
from files join executed using (file)
