-- Grain: one row a dataset artifact, split that a run asked of it, and task: the texts that the page shows of it.
select
    judged_tasks.task_index,
    asked.dataset_run,
    asked.split,
    case asked.split when 'instruct' then tasks.instruct_prompt else tasks.complete_prompt end as prompt,
    tasks.complete_prompt,
    tasks.code_prompt,
    tasks.canonical_solution,
    tasks.test
from (select distinct dataset_run, split from runs) as asked
join source_tasks as tasks on tasks.run_index = asked.dataset_run
join judged_tasks using (task_id)
