-- Grain: one row a task and sample of one variant and sanitizer: what was executed, and what came of it.
with

tasks as (select task_id, position, code_prompt from source_tasks),

solutions as (select task_id, sample_index, sanitizer, solution from source_solutions),

verdicts as (
    select task_id, sample_index, variant, sanitizer, status, failure_kind, tests, module_trace, exit
    from source_verdicts
    where variant = $variant and sanitizer = $sanitizer
)

select
    task_id,
    sample_index,
    code_prompt,
    solution,
    variant,
    sanitizer,
    status,
    failure_kind,
    tests,
    module_trace,
    exit
from verdicts
join tasks using (task_id)
left join solutions using (task_id, sample_index, sanitizer)
order by position, task_id, sample_index
