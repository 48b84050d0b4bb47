-- Grain: one row a task whose ground truth does not pass here, in the order of the tasks' numbers.
select task_id, status, failure_kind
from source_ground_truth
where status <> 'pass'
order by regexp_replace(task_id, '\d+$', ''), try_cast(regexp_extract(task_id, '\d+$') as bigint), task_id
