-- Grain: one row an execution artifact, task, sample_index, variant and sanitizer: what became of a sample.
-- cause: the first failing test with its exception, or how the sandbox ended
-- words: what searches look in, in small letters
with

failing as (
    select *, list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing'))[1] as failed
    from fresh
),

traced as (
    select *, coalesce(nullif(module_trace, ''), nullif(failed.trace, ''), '') as trace
    from failing
),

caused as (
    select
        *,
        coalesce(
            -- The last line that reads like 'ValueError: …' or 'KeyboardInterrupt'.
            nullif(regexp_extract_all(trace, '(?m)^[A-Za-z_][\w.]*(?::[^\n]*)?$')[-1], ''),
            nullif(exit, 'exit 0'), nullif(failure_kind, ''), status
        ) as exception
    from traced
),

described as (
    select
        *,
        case
            when status = 'pass' then ''
            else left(concat_ws(': ', case when module_trace = '' then nullif(failed.name, '') end, exception), 300)
        end as cause
    from caused
)

select
    artifact,
    task_id,
    sample_index,
    variant,
    sanitizer,
    status,
    failure_kind,
    cpu_seconds,
    wall_seconds,
    cause,
    -- The blank behind the task's id lets "task/1 " be told from "task/10".
    lower(concat_ws(' ', task_id, replace(status, '_', ' '), status, replace(failure_kind, '_', ' '), cause)) as words
from described
