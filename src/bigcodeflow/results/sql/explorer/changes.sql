-- Grain: one row a pair of executions of $pairs that judged a task in common: how the later one differs from the earlier one.
-- earlier_score: mean over the tasks of the earlier share of passing samples
-- left_out: tasks that are not compared; differences: later share less earlier one, of the tasks that differ
-- single: each run has one judged sample of each task
with

pairs as (
    select unnest(
        from_json($pairs, '[{"place":"INTEGER","earlier":"VARCHAR","later":"VARCHAR","variant":"VARCHAR","sanitizer":"VARCHAR","left_out":["VARCHAR"]}]'),
        recursive := true
    )
),

shares as (
    select
        artifact,
        variant,
        sanitizer,
        task_id,
        sum(n_samples) filter (status <> 'infra_error') as n_judged,
        coalesce(sum(n_samples) filter (status = 'pass'), 0) / sum(n_samples) filter (status <> 'infra_error') as share
    from stored.outcomes
    where artifact in (select earlier from pairs union select later from pairs)
    group by artifact, variant, sanitizer, task_id
),

matched as (
    select
        pairs.place,
        before.task_id,
        greatest(before.n_judged, after.n_judged) as n_judged,
        before.share as earlier_share,
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
    avg(earlier_share)::double as earlier_score,
    coalesce(list(difference order by task_id) filter (difference <> 0), [])::double[] as differences,
    max(n_judged) = 1 as single
from matched
group by place
