-- Grain: one row a problem that would make a score wrong: something missing, doubled or belonging to other tables.
with

solutions as (
    select task_id, sample_index, sanitizer from source_solutions semi join source_tasks using (task_id)
),

verdicts as (
    select task_id, sample_index, variant, sanitizer, count(*) as n_rows
    from source_verdicts semi join source_tasks using (task_id)
    group by all
),

ground_truths as (
    select task_id, count(*) as n_rows from source_ground_truth semi join source_tasks using (task_id) group by all
),

-- Without any verdict there is no variant to expect; the default one then names what is missing.
variants as (
    select distinct variant from verdicts
    union all
    select 'calibrated' where not exists (from verdicts)
),

problems as (
    select 'has no solution' as problem, task_id, null as sample_index, null as variant, null as sanitizer
    from source_tasks anti join solutions using (task_id)
    union all
    select 'has no verdict', task_id, sample_index, variant, sanitizer
    from solutions cross join variants anti join verdicts using (task_id, sample_index, variant, sanitizer)
    union all
    select 'has a verdict but no solution', task_id, sample_index, variant, sanitizer
    from verdicts anti join solutions using (task_id, sample_index, sanitizer)
    union all
    select 'has ' || n_rows || ' verdicts', task_id, sample_index, variant, sanitizer
    from verdicts where n_rows > 1
    union all
    select 'has no ground-truth verdict', task_id, null, null, null
    from source_tasks anti join ground_truths using (task_id)
    union all
    select 'has ' || n_rows || ' ground-truth verdicts', task_id, null, null, null
    from ground_truths where n_rows > 1
)

select problem, task_id, sample_index, variant, sanitizer
from problems
order by task_id, sample_index, variant, sanitizer, problem
