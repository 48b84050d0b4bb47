-- Grain: one row a variant, sanitizer, task and prefix of tests: samples given, judged and passed, and whether the task
-- is judgeable.
with

verdicts as (
    select
        task_id, variant, sanitizer, status, prefix,
        status = 'pass' or (
            prefix <> '' and status <> 'tampered'
            and coalesce(list_bool_and(
                [test.outcome = 'pass' for test in tests if starts_with(test.name, prefix)]
            ), false)
        ) as passed
    from source_verdicts cross join (select distinct prefix from score_metrics)
),

counted as (
    select
        variant,
        sanitizer,
        task_id,
        prefix,
        count(*) as n_given,
        -- An infra_error says nothing about the sample: counting it would make it a fail.
        count(*) filter (status <> 'infra_error') as n_judged,
        count(*) filter (passed) as n_passed
    from verdicts semi join source_tasks using (task_id)
    group by all
)

select counted.*, source_ground_truth.status = 'pass' as judgeable
from counted join source_ground_truth using (task_id)
