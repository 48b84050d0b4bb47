-- Grain: one row a sample, variant and sanitizer of the files of verdicts $files: what samples of all runs are found by.
-- place: number of the row in its file
-- cause: the first failing test with its exception, or how the sandbox ended
-- words: what searches look in, in small letters
with

verdicts as (
    select
        -- An artifact's folder has the name of its key.
        split_part(filename, '/', -2) as artifact,
        file_row_number as place,
        task_id, sample_index, variant, sanitizer, status, failure_kind, module_trace, exit,
        list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing'))[1] as failing
    from read_parquet($files, hive_partitioning = false, union_by_name = true, filename = true, file_row_number = true)
),

traced as (
    select *, coalesce(nullif(module_trace, ''), nullif(failing.trace, ''), '') as trace
    from verdicts
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
            else left(concat_ws(': ', case when module_trace = '' then nullif(failing.name, '') end, exception), 300)
        end as cause
    from caused
)

select
    artifact,
    place::integer as place,
    task_id,
    sample_index,
    variant,
    nullif(sanitizer, 'unknown') as sanitizer,
    status,
    failure_kind,
    cause,
    -- The blank behind the task's id lets "task/1 " be told from "task/10".
    lower(concat_ws(' ', task_id, replace(status, '_', ' '), status, replace(failure_kind, '_', ' '), cause)) as words
from described
