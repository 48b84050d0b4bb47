-- Grain: one row a recorded run and task: the verdict of the task's own solution in that run.
select files.* exclude (artifact, key, file), found.* exclude (artifact, file, sample_index, variant, sanitizer)
from stored.run_files as files join stored.execution as found using (file)
where files.artifact = 'ground_truth'
