-- Grain: one row a recorded run, task, sample_index and sanitizer: the program that was executed, and its flags.
select files.* exclude (artifact, key, file), found.* exclude (artifact, file)
from stored.run_files as files join stored.sanitizing as found using (file)
where files.artifact = 'sanitizing'
