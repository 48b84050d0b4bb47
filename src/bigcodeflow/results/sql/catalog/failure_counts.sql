-- Grain: one row a recorded run, task, variant, sanitizer, status and failure_kind that did not pass; infra_error too.
-- n_samples: samples of the task that ended so
with

records as (select record, run, model, split, subset, execution_key from runs),

outcomes as (
    select artifact, task_id, variant, sanitizer, status, failure_kind, n_samples
    from stored.outcomes where status <> 'pass'
)

select records.* exclude (execution_key), outcomes.* exclude (artifact)
from records join outcomes on outcomes.artifact = records.execution_key
