-- Grain: one row a task, sample_index, variant and sanitizer of a run that fits the filters; a filter that is null fits all.
with

tasks as (select task_id, position, libs, domains, hard from source_tasks),

solutions as (select task_id, sample_index, sanitizer, solution from source_solutions),

verdicts as (
    select
        task_id, sample_index, variant, sanitizer, status, failure_kind, flaky, tests_expected, wall_seconds, exit,
        module_trace, stdout, stderr, tests,
        list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing')) as failing
    from source_verdicts
),

described as (
    select
        *,
        coalesce(nullif(module_trace, ''), nullif(failing[1].trace, ''), '') as first_trace,
        concat_ws(
            chr(10), solution, module_trace, stdout, stderr, exit,
            list_transform(tests, lambda test: test.name || chr(10) || test.trace).array_to_string(chr(10))
        ) as texts
    from verdicts join tasks using (task_id) left join solutions using (task_id, sample_index, sanitizer)
)

select
    task_id,
    sample_index,
    variant,
    sanitizer,
    status,
    failure_kind,
    flaky,
    hard,
    libs,
    domains,
    tests_expected,
    list_transform(failing, lambda test: test.name) as failing_tests,
    first_trace,
    exit,
    wall_seconds
from described
where
    ($task_id::varchar is null or task_id = $task_id)
    and ($task_ids::varchar[] is null or list_contains($task_ids, task_id))
    and ($sample_index::integer is null or sample_index = $sample_index)
    and ($variants::varchar[] is null or list_contains($variants, variant))
    and ($statuses::varchar[] is null or list_contains($statuses, status))
    and ($kinds::varchar[] is null or list_contains($kinds, failure_kind))
    and ($libraries::varchar[] is null or list_has_any(libs, $libraries))
    and ($domains::varchar[] is null or list_has_any(domains, $domains))
    and ($text::varchar is null or contains(lower(texts), lower($text)))
order by position, task_id, sample_index, variant, sanitizer
