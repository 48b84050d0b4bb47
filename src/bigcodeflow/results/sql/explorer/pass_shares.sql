-- Grain: one row a task: the share of its judged samples that pass, in the mean over the executions $chosen of a model, and of that over models.
with

chosen as (
    select unnest(
        from_json($chosen, '[{"model":"VARCHAR","artifact":"VARCHAR","variant":"VARCHAR","sanitizer":"VARCHAR"}]'),
        recursive := true
    )
),

shares as (
    select
        chosen.model,
        outcomes.task_id,
        coalesce(sum(n_samples) filter (status = 'pass'), 0) / sum(n_samples) filter (status <> 'infra_error') as share
    from stored.outcomes as outcomes
    join chosen
        on chosen.artifact = outcomes.artifact and chosen.variant = outcomes.variant
        -- Null is the sanitizer of imported runs.
        and chosen.sanitizer is not distinct from outcomes.sanitizer
    group by chosen.model, chosen.artifact, outcomes.task_id
),

models as (select model, task_id, avg(share) as share from shares group by model, task_id)

select task_id, avg(share)::double as pass_share from models where share is not null group by task_id
