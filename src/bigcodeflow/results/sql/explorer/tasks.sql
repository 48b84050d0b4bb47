-- Grain: one row a task of any recorded run: its facts, from the dataset that has it first.
select
    task_id,
    min(position) as position,
    bool_or(hard) as hard,
    arg_min(libs, position) as libs,
    arg_min(domains, position) as domains
from stored.tasks
group by task_id
order by position, task_id
