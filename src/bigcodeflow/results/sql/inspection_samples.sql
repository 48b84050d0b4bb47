-- Grain: one row a task, sample_index, variant and sanitizer of a run that fits the filters; a filter that is null fits all.
with

described as (
    select
        *,
        list_filter(tests, lambda one: one.outcome in ('fail', 'error', 'missing')) as failing,
        concat_ws(
            chr(10), solution, module_trace, stdout, stderr, exit,
            list_transform(tests, lambda one: one.name || chr(10) || one.trace).array_to_string(chr(10))
        ) as texts
    from samples
    where position is not null
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
    list_transform(failing, lambda one: one.name) as failing_tests,
    coalesce(nullif(module_trace, ''), nullif(failing[1].trace, ''), '') as first_trace,
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
