-- Grain: one row a recorded run, task and sample_index: the model's answer, its tokens and its price.
select files.* exclude (artifact, key, file), found.* exclude (artifact, file)
from stored.run_files as files join stored.generation as found using (file)
where files.artifact = 'generation'
