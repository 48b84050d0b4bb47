-- Grain: one row a task and sample of one variant and sanitizer: what was executed, and what came of it.
select task_id, code_prompt, solution, sample_index, status, failure_kind, tests, module_trace, exit
from samples
where variant = $variant and sanitizer = $sanitizer and position is not null
order by position, task_id, sample_index
