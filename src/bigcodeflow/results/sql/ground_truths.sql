-- Grain: one row: how many of the tasks have a ground truth that passes here.
with

tasks as (select task_id from source_tasks),

ground_truths as (select task_id, status from source_ground_truth)

select count(*) as n_tasks, count(*) filter (status = 'pass') as n_passed
from ground_truths semi join tasks using (task_id)
