-- Grain: one row a task that any run judged, numbered in the benchmark's order; its facts from the first run that has them.
with

described as (
    select
        task_id,
        arg_min(position, run_index) as position,
        arg_min(libs, run_index) as libs,
        arg_min(domains, run_index) as domains,
        bool_or(hard) as hard
    from source_tasks
    group by task_id
)

select
    (row_number() over (
        order by described.position nulls last, try_cast(split_part(task_id, '/', -1) as integer) nulls last, task_id
    ) - 1)::integer as task_index,
    task_id,
    coalesce(described.libs, []) as libs,
    coalesce(described.domains, []) as domains,
    coalesce(described.hard, false) as hard
from (select distinct task_id from source_verdicts) left join described using (task_id)
order by task_index
