-- Grain: one row an execution of $artifacts, variant, sanitizer, status and failure kind that samples of one task have in it.
with

chosen as (select unnest($artifacts::varchar[]) as artifact)

select artifact, variant, sanitizer, status, failure_kind, n_samples
from stored.outcomes semi join chosen using (artifact)
where task_id = $task_id
order by artifact, variant, sanitizer, n_samples desc, status, failure_kind
