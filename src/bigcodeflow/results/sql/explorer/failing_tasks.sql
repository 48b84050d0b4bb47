-- Grain: one row a task of which some sample of an execution did not pass, in the order of the dataset.
with

outcomes as (
    select distinct task_id
    from stored.outcomes
    where
        artifact = $artifact and variant = $variant and sanitizer is not distinct from $sanitizer::varchar
        and status <> 'pass'
),

tasks as (select task_id, position from stored.tasks where artifact = $dataset)

select task_id
from outcomes join tasks using (task_id)
order by position, task_id
