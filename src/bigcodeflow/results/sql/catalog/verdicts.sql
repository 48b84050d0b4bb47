-- Grain: one row a recorded run, task, sample_index, variant and sanitizer: what became of a sample.
select files.* exclude (artifact, key, file), found.* exclude (artifact, file)
-- Joined by file, DuckDB opens only the files of the runs that are asked for.
from stored.run_files as files join stored.execution as found using (file)
where files.artifact = 'execution'
