-- Grain: one row a run, task, sample_index, variant and sanitizer that has a verdict: everything that the store holds of it.
-- prompt: the task's prompt in the run's split
-- ground_truth_tests: the failing tests of the task's own solution
with

verdicts as (
    select
        * exclude (verdict_key) replace (
            -- Imported verdicts have NaN, which JSON does not know.
            case when isfinite(wall_seconds) then wall_seconds end as wall_seconds,
            case when isfinite(cpu_seconds) then cpu_seconds end as cpu_seconds,
            case when isfinite(max_rss_mib) then max_rss_mib end as max_rss_mib
        )
    from source_verdicts
),

tasks as (
    select
        run_index as dataset_run, task_id, position, complete_prompt, instruct_prompt, canonical_solution, code_prompt,
        test, entry_point, libs, domains, hard
    from source_tasks
),

answers as (
    select
        run_index, task_id, sample_index, raw_text, provider, served_model, request, reasoning, finish_reason,
        prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, seed, error,
        case when isfinite(cost_usd) then cost_usd end as cost_usd,
        case when isfinite(latency_seconds) then latency_seconds end as latency_seconds
    from source_samples
),

solutions as (
    select
        run_index, task_id, sample_index, sanitizer, solution, syntax_error, findings, blocked, omitted_setup,
        placeholder, truncated, shortened
    from source_solutions
),

-- A ground truth has one verdict a task; its sample_index is 0 whatever the sample's is.
ground_truths as (
    select
        run_index as truth_run, task_id, status as ground_truth_status, failure_kind as ground_truth_failure_kind,
        exit as ground_truth_exit, module_trace as ground_truth_module_trace,
        list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing')) as ground_truth_tests
    from source_ground_truth
)

select *, case split when 'instruct' then instruct_prompt else complete_prompt end as prompt
from verdicts
join runs using (run_index)
left join tasks using (dataset_run, task_id)
left join answers using (run_index, task_id, sample_index)
left join solutions using (run_index, task_id, sample_index, sanitizer)
left join ground_truths using (truth_run, task_id)
