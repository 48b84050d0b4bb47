-- Grain: one row a task: the mean over the runs $runs of the share of its judged samples that pass, each run in its first kind.
with

judged as (
    select verdicts.task_id, verdicts.run_index, avg((verdicts.status = 'pass')::double) as share, count(*) as n_samples
    from source_verdicts as verdicts join leads using (run_index, variant, sanitizer)
    where verdicts.status <> 'infra_error' and list_contains($runs::integer[], run_index)
    group by verdicts.task_id, verdicts.run_index
)

select
    judged_tasks.task_id,
    judged_tasks.libs,
    -- Sums in another order differ in the last digit, which would give tied tasks another order each time.
    round(avg(judged.share), 12) as solve_rate,
    count(*) as n_runs,
    sum(judged.n_samples)::integer as n_samples
from judged join judged_tasks using (task_id)
group by all
order by solve_rate, any_value(judged_tasks.task_index)
