-- Grain: one row a variant and sanitizer: how many of its tasks are known not to judge reliably.
select
    variant,
    sanitizer,
    'all' as slice_kind,
    'all' as slice,
    count(*) as n_tasks,
    sum(n_given) as n_samples,
    count(quarantined_tasks.task_id) as n_quarantined
from task_counts left join quarantined_tasks using (task_id)
group by variant, sanitizer
order by variant, sanitizer
