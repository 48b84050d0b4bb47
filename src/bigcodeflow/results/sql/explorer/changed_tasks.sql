-- Grain: one row a task of which the executions $first and $second passed different shares: what became of it in each.
-- $left_out: tasks that are not compared
with

counted as (
    select
        artifact,
        task_id,
        sum(n_samples) filter (status <> 'infra_error') as n_judged,
        coalesce(sum(n_samples) filter (status = 'pass'), 0) as n_passed,
        list_sort(list(distinct case when failure_kind = '' then status else failure_kind end)) as outcomes
    from stored.outcomes
    where
        (artifact = $first and variant = $first_variant and sanitizer is not distinct from $first_sanitizer::varchar)
        or (artifact = $second and variant = $second_variant and sanitizer is not distinct from $second_sanitizer::varchar)
    group by artifact, task_id
),

tasks as (select task_id, min(position) as position, bool_or(hard) as hard from stored.tasks group by task_id)

select
    task_id,
    tasks.hard,
    one.n_judged::integer as first_judged,
    one.n_passed::integer as first_passed,
    one.outcomes as first_outcomes,
    other.n_judged::integer as second_judged,
    other.n_passed::integer as second_passed,
    other.outcomes as second_outcomes
from counted as one
join counted as other using (task_id)
join tasks using (task_id)
where
    one.artifact = $first and other.artifact = $second
    and not list_contains($left_out::varchar[], task_id)
    and one.n_passed * other.n_judged <> other.n_passed * one.n_judged
order by one.n_passed / one.n_judged < other.n_passed / other.n_judged, tasks.position, task_id
