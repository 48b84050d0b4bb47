-- Grain: one row: the nearest tasks before and after $task_id of which some sample of an execution did not pass.
with

outcomes as (
    select distinct task_id
    from stored.outcomes
    where
        artifact = $artifact and variant = $variant and sanitizer is not distinct from $sanitizer::varchar
        and status <> 'pass'
),

tasks as (select task_id, position from stored.tasks where artifact = $dataset),

here as (select position as here from tasks where task_id = $task_id)

select
    arg_max(task_id, position) filter (position < here) as before,
    arg_min(task_id, position) filter (position > here) as after
from outcomes join tasks using (task_id) cross join here
