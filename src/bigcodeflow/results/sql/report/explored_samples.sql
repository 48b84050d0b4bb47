-- Grain: one row a run, task, sample_index, variant and sanitizer, by task: all that the report's samples show, without the texts of the tasks.
select
    judged_tasks.task_index,
    samples.* exclude (
        position, prompt, complete_prompt, instruct_prompt, canonical_solution, code_prompt, test, libs, domains, hard,
        request
    )
from judged_tasks join samples using (task_id)
order by judged_tasks.task_index, run_index, sample_index, variant, sanitizer
