-- Grain: one row an execution artifact, task, variant, sanitizer, status and failure_kind: how many samples ended so.
select
    artifact,
    task_id,
    variant,
    sanitizer,
    status,
    failure_kind,
    count(*)::integer as n_samples,
    fsum(cpu_seconds) as cpu_seconds,
    fsum(wall_seconds) as wall_seconds
from stored.verdicts
group by all
