-- Grain: one row a recorded run, task, variant and sanitizer: which share of the task's samples passes.
-- n_given: samples of the task
-- n_judged: of these, the ones that are no infra_error
-- n_passed: of these, the ones that pass
-- solve_rate: n_passed / n_judged, in 0..1; null where no sample was judged
-- judgeable: the task's own solution passes in this run; null where that is not known
with

counted as (
    select
        artifact,
        task_id,
        variant,
        sanitizer,
        sum(n_samples)::integer as n_given,
        coalesce(sum(n_samples) filter (status <> 'infra_error'), 0)::integer as n_judged,
        coalesce(sum(n_samples) filter (status = 'pass'), 0)::integer as n_passed
    from stored.outcomes
    group by all
),

ground_truths as (select artifact, task_id, bool_and(status = 'pass') as judgeable from stored.outcomes group by all)

select
    runs.record,
    runs.run,
    runs.model,
    runs.split,
    runs.subset,
    counted.task_id,
    counted.variant,
    counted.sanitizer,
    tasks.hard,
    tasks.libs,
    tasks.domains,
    counted.n_given,
    counted.n_judged,
    counted.n_passed,
    case when counted.n_judged > 0 then counted.n_passed / counted.n_judged end as solve_rate,
    ground_truths.judgeable
from runs
join counted on counted.artifact = runs.execution_key
join stored.tasks on tasks.artifact = runs.dataset_key and tasks.task_id = counted.task_id
left join ground_truths
    on ground_truths.artifact = runs.ground_truth_key and ground_truths.task_id = counted.task_id
