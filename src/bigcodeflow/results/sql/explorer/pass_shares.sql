-- Grain: one row a task: the mean over the executions $chosen, each in one variant, of the share of its judged samples that pass.
with

chosen as (
    select unnest(
        from_json($chosen, '[{"artifact":"VARCHAR","variant":"VARCHAR","sanitizer":"VARCHAR"}]'), recursive := true
    )
),

shares as (
    select
        chosen.artifact,
        outcomes.task_id,
        coalesce(sum(n_samples) filter (status = 'pass'), 0) / sum(n_samples) filter (status <> 'infra_error') as share
    from stored.outcomes as outcomes
    join chosen
        on chosen.artifact = outcomes.artifact and chosen.variant = outcomes.variant
        -- Null is the sanitizer of imported runs.
        and chosen.sanitizer is not distinct from outcomes.sanitizer
    group by chosen.artifact, outcomes.task_id
)

select task_id, avg(share)::double as pass_share, count(share)::integer as n_runs
from shares
where share is not null
group by task_id
