-- Grain: one row a recorded run, task, sample_index and sanitizer: the program that was executed, and its flags.
with

files as (select record, run, model, split, subset, file from stored.run_files where artifact = 'sanitizing'),

sanitized as (select * from stored.sanitizing)

select files.* exclude (file), sanitized.* exclude (artifact, file)
from files join sanitized using (file)
