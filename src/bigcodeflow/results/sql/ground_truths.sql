-- Grain: one row: how many of the tasks have a ground truth that passes here, and of how many it passed at times only.
select
    count(*) as n_tasks,
    count(*) filter (status = 'pass') as n_passed,
    count(*) filter (status = 'pass' and flaky) as n_flaky
from source_ground_truth semi join source_tasks using (task_id)
