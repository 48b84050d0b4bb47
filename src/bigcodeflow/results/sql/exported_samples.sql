-- Grain: one row a task and sample_index of one variant and sanitizer: what was asked, answered, executed and found.
with

tasks as (
    select
        task_id, position, complete_prompt, instruct_prompt, canonical_solution, code_prompt, test, entry_point, libs,
        domains, hard
    from source_tasks
),

samples as (
    select
        task_id, sample_index, raw_text, provider, served_model, request, reasoning, finish_reason, prompt_tokens,
        cached_tokens, completion_tokens, reasoning_tokens, cost_usd, latency_seconds, seed, error
    from source_samples
),

solutions as (
    select task_id, sample_index, sanitizer, solution, blocked, omitted_setup, placeholder, truncated, shortened
    from source_solutions
),

ground_truths as (select task_id, status as ground_truth_status from source_ground_truth),

verdicts as (
    select
        task_id, sample_index, variant, sanitizer, status, failure_kind, tests, module_trace, tests_expected, tests_run,
        wall_seconds, cpu_seconds, max_rss_mib, stdout, stderr, attempts, flaky, integrity, backend, environment_sha, exit
    from source_verdicts
    where variant = $variant and sanitizer = $sanitizer
)

select *
from verdicts
join tasks using (task_id)
left join samples using (task_id, sample_index)
left join solutions using (task_id, sample_index, sanitizer)
left join ground_truths using (task_id)
order by position, task_id, sample_index
