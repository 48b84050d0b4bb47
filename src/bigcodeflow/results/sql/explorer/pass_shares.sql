-- Grain: one row a task: the mean over the executions $artifacts of the share of its judged samples that pass.
with

chosen as (select unnest($artifacts::varchar[]) as artifact),

shares as (
    select
        artifact,
        task_id,
        coalesce(sum(n_samples) filter (status = 'pass'), 0) / sum(n_samples) filter (status <> 'infra_error') as share
    from stored.outcomes semi join chosen using (artifact)
    group by artifact, task_id
)

select task_id, avg(share)::double as pass_share, count(share)::integer as n_runs
from shares
where share is not null
group by task_id
