-- Grain: one row a recorded run, task, variant, sanitizer, status and failure_kind that did not pass; infra_error too.
-- n_samples: samples of the task that ended so
select record, run, model, split, subset, task_id, variant, sanitizer, status, failure_kind, n_samples
from runs join stored.outcomes on outcomes.artifact = runs.execution_key
where status <> 'pass'
