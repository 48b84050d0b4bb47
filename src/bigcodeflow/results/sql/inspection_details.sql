-- Grain: one row a task, sample_index, variant and sanitizer of one task: everything that the store holds of it.
with

tasks as (
    select
        task_id, complete_prompt, instruct_prompt, canonical_solution, code_prompt, test, libs, domains, hard
    from source_tasks
    where task_id = $task_id
),

samples as (
    select task_id, sample_index, raw_text, provider, served_model, finish_reason, error from source_samples
),

solutions as (
    select
        task_id, sample_index, sanitizer, solution, syntax_error, findings, blocked, omitted_setup, placeholder, truncated,
        shortened
    from source_solutions
),

ground_truths as (
    select
        task_id, status as ground_truth_status, failure_kind as ground_truth_kind, exit as ground_truth_exit,
        module_trace as ground_truth_module_trace,
        list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing')) as ground_truth_failing
    from source_ground_truth
),

verdicts as (select * exclude (verdict_key) from source_verdicts)

select *
from verdicts
join tasks using (task_id)
left join samples using (task_id, sample_index)
left join solutions using (task_id, sample_index, sanitizer)
left join ground_truths using (task_id)
order by sample_index, variant, sanitizer
