-- Grain: one row a task whose ground truth does not pass here, in the order of the tasks' numbers.
with

ground_truths as (select task_id, status, failure_kind from source_ground_truth)

select task_id, status, failure_kind
from ground_truths
where status <> 'pass'
order by regexp_replace(task_id, '\d+$', ''), try_cast(regexp_extract(task_id, '\d+$') as bigint), task_id
