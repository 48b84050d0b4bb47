-- Grain: one row an execution of $artifacts, variant, sanitizer, status and failure kind that samples of one task have in it.
select artifact, variant, sanitizer, status, failure_kind, n_samples
from stored.outcomes
where task_id = $task_id and list_contains($artifacts::varchar[], artifact)
order by artifact, variant, sanitizer, n_samples desc, status, failure_kind
