-- Grain: one row a pair of executions of $pairs that judged a task in common: how the later one differs from the earlier one.
-- difference: mean over the tasks of the later share of passing samples less the earlier one
-- left_out: tasks that are not compared; differences: those of the tasks that differ
-- single: each run has one judged sample of each task
with

pairs as (
    select unnest(
        from_json($pairs, '[{"place":"INTEGER","earlier":"VARCHAR","later":"VARCHAR","variant":"VARCHAR","sanitizer":"VARCHAR","left_out":["VARCHAR"]}]'),
        recursive := true
    )
),

chosen as (select earlier as artifact from pairs union select later from pairs),

shares as (
    select
        artifact,
        variant,
        sanitizer,
        task_id,
        sum(n_samples) filter (status <> 'infra_error') as n_judged,
        coalesce(sum(n_samples) filter (status = 'pass'), 0) / sum(n_samples) filter (status <> 'infra_error') as share
    from stored.outcomes semi join chosen using (artifact)
    group by artifact, variant, sanitizer, task_id
),

matched as (
    select
        pairs.place,
        before.task_id,
        greatest(before.n_judged, after.n_judged) as n_judged,
        before.share as earlier_share,
        after.share as later_share,
        after.share - before.share as difference
    from pairs
    join shares as before
        on before.artifact = pairs.earlier and before.variant = pairs.variant
        -- Null is the sanitizer of imported runs.
        and before.sanitizer is not distinct from pairs.sanitizer
    join shares as after
        on after.artifact = pairs.later and after.variant = pairs.variant and after.task_id = before.task_id
        and after.sanitizer is not distinct from pairs.sanitizer
    where
        before.share is not null and after.share is not null
        and not list_contains(pairs.left_out, before.task_id)
)

select
    place,
    count(*)::integer as n_tasks,
    -- Shares of different n that are equal may differ in the last digit.
    count(*) filter (difference > 1e-12)::integer as n_better,
    count(*) filter (difference < -1e-12)::integer as n_worse,
    avg(earlier_share)::double as earlier_score,
    avg(later_share)::double as later_score,
    avg(difference)::double as difference,
    stddev_samp(difference)::double as deviation,
    coalesce(list(difference order by task_id) filter (abs(difference) > 1e-12), [])::double[] as differences,
    max(n_judged) = 1 as single
from matched
group by place
