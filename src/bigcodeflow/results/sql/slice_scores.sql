-- Grain: one row a variant, sanitizer, slice, metric and k: the pass@k of every task that counts, as a list.
with

candidates as (
    select
        variant, sanitizer, slice_kind, slice, metric, k, n_judged, pass_at_k,
        not isnan(pass_at_k)
        and (judgeable or not judgeable_only)
        and not (unquarantined_only and quarantined_tasks.task_id is not null) as counts
    from task_scores
    join task_slices using (task_id)
    left join quarantined_tasks using (task_id)
    join score_metrics using (prefix)
)

select
    variant,
    sanitizer,
    slice_kind,
    slice,
    metric,
    k,
    coalesce(list(pass_at_k) filter (counts), []) as scores,
    coalesce(sum(n_judged) filter (counts), 0) as n_samples
from candidates
group by all
order by variant, sanitizer, slice_kind, slice, metric, k
