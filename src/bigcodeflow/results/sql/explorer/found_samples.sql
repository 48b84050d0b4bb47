-- Grain: one row a sample, variant and sanitizer of the executions $artifacts and tasks $tasks.
-- hits: bit i is set where word i occurs in the names of the run, or in the traits of the task
-- $variant: '' leaves out raw verdicts that repeat the calibrated one; 'all' leaves out none
-- number: place of the execution in $artifacts; position: place of the task in $tasks
with

listed as (
    select unnest(from_json($artifacts, '[{"artifact":"VARCHAR","number":"INTEGER","hits":"BIGINT"}]'), recursive := true)
),

tasks as (
    select unnest(from_json($tasks, '[{"task_id":"VARCHAR","position":"INTEGER","hits":"BIGINT"}]'), recursive := true)
)

select
    number, position, task_id, sample_index, variant, sanitizer, status, failure_kind, cause, words,
    listed.hits | tasks.hits as hits
from stored.verdicts join listed using (artifact) join tasks using (task_id)
where $variant in ('', 'all', variant) and not ($variant = '' and repeats)
