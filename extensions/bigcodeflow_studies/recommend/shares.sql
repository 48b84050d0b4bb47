-- Grain: one row a task and run of $chosen that judged it: the share of the task's judged samples that pass; tasks whose own solution failed in the run are left out.
with

chosen as (
    select unnest(
        from_json($chosen, '[{"record":"VARCHAR","artifact":"VARCHAR","truths":"VARCHAR","variant":"VARCHAR","sanitizer":"VARCHAR"}]'),
        recursive := true
    )
),

truths as (
    select artifact, task_id, bool_and(status = 'pass') as judgeable
    from stored.outcomes
    where artifact in (select truths from chosen)
    group by artifact, task_id
)

select
    chosen.record,
    outcomes.task_id,
    (coalesce(sum(outcomes.n_samples) filter (outcomes.status = 'pass'), 0) / sum(outcomes.n_samples))::double as share
from chosen
join stored.outcomes as outcomes
    on outcomes.artifact = chosen.artifact and outcomes.variant = chosen.variant
    -- Null is the sanitizer of imported runs.
    and outcomes.sanitizer is not distinct from chosen.sanitizer
left join truths on truths.artifact = chosen.truths and truths.task_id = outcomes.task_id
where outcomes.status <> 'infra_error' and coalesce(truths.judgeable, true)
group by chosen.record, outcomes.task_id
