-- Grain: one row a recorded run, task and sample_index: the model's answer, its tokens and its price.
with

files as (select record, run, model, split, subset, file from stored.run_files where artifact = 'generation'),

answered as (select * from stored.generation)

select files.* exclude (file), answered.* exclude (artifact, file)
from files join answered using (file)
