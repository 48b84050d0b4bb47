-- Grain: one row an execution artifact, task, sample_index, variant and sanitizer: what became of a sample.
-- repeats: the raw verdict of a sample whose calibrated verdict is the same
-- cause: the first failing test with its exception, or how the sandbox ended
-- words: what searches look in, in small letters
with

calibrated as (
    select artifact, task_id, sample_index, sanitizer, status, failure_kind from fresh where variant = 'calibrated'
),

described as (
    select
        *,
        list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing'))[1] as failed,
        coalesce(nullif(module_trace, ''), nullif(failed['trace'], ''), '') as trace,
        coalesce(
            -- The last line that reads like 'ValueError: …' or 'KeyboardInterrupt'.
            nullif(regexp_extract_all(trace, '(?m)^[A-Za-z_][\w.]*(?::[^\n]*)?$')[-1], ''),
            nullif(exit, 'exit 0'), nullif(failure_kind, ''), status
        ) as exception,
        case
            when status = 'pass' then ''
            else left(concat_ws(': ', case when module_trace = '' then nullif(failed['name'], '') end, exception), 300)
        end as cause
    from fresh
)

select
    described.artifact,
    described.task_id,
    described.sample_index,
    described.variant,
    described.sanitizer,
    described.status,
    described.failure_kind,
    calibrated.task_id is not null as repeats,
    cpu_seconds,
    wall_seconds,
    cause,
    -- The blank behind the task's id lets "task/1 " be told from "task/10".
    lower(concat_ws(
        ' ', described.task_id, replace(described.status, '_', ' '), described.status,
        replace(described.failure_kind, '_', ' '), cause
    )) as words
from described
left join calibrated
    on described.variant = 'raw' and calibrated.artifact = described.artifact
    and calibrated.task_id = described.task_id and calibrated.sample_index = described.sample_index
    and calibrated.status = described.status and calibrated.failure_kind = described.failure_kind
    and calibrated.sanitizer is not distinct from described.sanitizer
