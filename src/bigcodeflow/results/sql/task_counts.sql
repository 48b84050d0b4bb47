-- Grain: one row a variant, sanitizer and task: samples given, judged and passed, and whether the task is judgeable.
with

tasks as (select task_id from source_tasks),

ground_truths as (select task_id, status = 'pass' as judgeable from source_ground_truth),

verdicts as (select task_id, variant, sanitizer, status from source_verdicts),

counted as (
    select
        variant,
        sanitizer,
        task_id,
        count(*) as n_given,
        -- An infra_error says nothing about the sample: counting it would make it a fail.
        count(*) filter (status <> 'infra_error') as n_judged,
        count(*) filter (status = 'pass') as n_passed
    from verdicts semi join tasks using (task_id)
    group by all
)

select counted.*, ground_truths.judgeable
from counted join ground_truths using (task_id)
