-- Grain: one row a run, task, sample_index, variant and sanitizer, by task: all that the explorer shows of it.
with

-- A ground truth has one verdict a run and task; its sample_index is 0 whatever the sample's is.
truths as (
    select
        run_index,
        task_id,
        status,
        failure_kind,
        -- What passes has no cause, and its tests are many.
        case when status <> 'pass' then tests end as tests,
        module_trace,
        exit
    from ground_truths
)

select
    judged_tasks.task_index,
    verdicts.run_index,
    verdicts.sample_index,
    verdicts.variant,
    verdicts.sanitizer,
    verdicts.status,
    verdicts.failure_kind,
    runs.split,
    runs.dataset_run,
    list_transform(
        verdicts.tests, lambda test: [test.name, test.outcome, coalesce(test.trace, '')]
    ) as tests,
    verdicts.tests_expected,
    verdicts.module_trace,
    verdicts.stdout,
    verdicts.stderr,
    verdicts.stdout_truncated,
    verdicts.stderr_truncated,
    -- JSON knows no NaN, which an imported verdict has.
    case when isfinite(verdicts.wall_seconds) then verdicts.wall_seconds end as wall_seconds,
    case when isfinite(verdicts.cpu_seconds) then verdicts.cpu_seconds end as cpu_seconds,
    case when isfinite(verdicts.max_rss_mib) then verdicts.max_rss_mib end as max_rss_mib,
    verdicts.attempts,
    verdicts.flaky,
    verdicts.tampering,
    verdicts.integrity,
    verdicts.backend,
    verdicts.exit,
    solutions.solution,
    solutions.syntax_error,
    solutions.findings,
    solutions.truncated,
    samples.raw_text,
    samples.reasoning,
    samples.finish_reason,
    samples.prompt_tokens,
    samples.completion_tokens,
    samples.reasoning_tokens,
    case when isfinite(samples.cost_usd) then samples.cost_usd end as cost_usd,
    case when isfinite(samples.latency_seconds) then samples.latency_seconds end as latency_seconds,
    samples.error,
    truths.status as truth_status,
    truths.failure_kind as truth_failure_kind,
    list_transform(
        truths.tests, lambda test: [test.name, test.outcome, coalesce(test.trace, '')]
    ) as truth_tests,
    truths.module_trace as truth_module_trace,
    truths.exit as truth_exit
from judged_tasks
join verdicts using (task_id)
join runs on runs.run_index = verdicts.run_index
left join solutions
    on solutions.run_index = verdicts.run_index
    and solutions.task_id = verdicts.task_id
    and solutions.sample_index = verdicts.sample_index
    and solutions.sanitizer = verdicts.sanitizer
left join samples
    on samples.run_index = verdicts.run_index
    and samples.task_id = verdicts.task_id
    and samples.sample_index = verdicts.sample_index
left join truths on truths.run_index = runs.truth_run and truths.task_id = verdicts.task_id
order by judged_tasks.task_index, verdicts.run_index, verdicts.sample_index, verdicts.variant, verdicts.sanitizer
