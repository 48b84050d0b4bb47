-- Grain: one row a variant, sanitizer and outcome (any, a status, a failure kind, a check of passes, a flag of the solution): its samples.
with

flags as (
    select
        task_id,
        sample_index,
        sanitizer,
        list_filter(
            [
                case when not syntax_ok then 'syntax_error' end,
                case when blocked then 'blocked' end,
                case when omitted_setup then 'omitted_setup' end,
                case when placeholder then 'placeholder' end,
                case when truncated then 'truncated' end,
                case when shortened then 'shortened' end,
                case when len(findings) > 0 then 'safety_finding' end
            ],
            lambda flag: flag is not null
        ) as flags
    from source_solutions
),

verdicts as (
    select variant, sanitizer, task_id, sample_index, status, failure_kind, integrity, flaky
    from source_verdicts semi join source_tasks using (task_id)
),

outcomes as (
    select variant, sanitizer, 'all' as slice_kind, 'all' as slice from verdicts
    union all
    select variant, sanitizer, 'status', status from verdicts
    union all
    select variant, sanitizer, 'failure_kind', failure_kind from verdicts where failure_kind <> ''
    union all
    select variant, sanitizer, 'integrity', integrity from verdicts where integrity is not null
    union all
    select variant, sanitizer, 'solution', unnest(flags)
    from verdicts join flags using (task_id, sample_index, sanitizer)
),

counted as (select variant, sanitizer, slice_kind, slice, count(*) as n_here from outcomes group by all),

totals as (
    select
        variant, sanitizer, count(*) as n_samples, count(distinct task_id) as n_tasks,
        count(*) filter (status = 'infra_error') as n_infra_errors,
        count(*) filter (flaky is not null) as n_rerun,
        count(*) filter (flaky) as n_flaky
    from verdicts group by all
)

select variant, sanitizer, slice_kind, slice, n_here, n_samples, n_tasks, n_infra_errors, n_rerun, n_flaky
from counted join totals using (variant, sanitizer)
order by variant, sanitizer, slice_kind, n_here desc, slice
