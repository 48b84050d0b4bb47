-- Grain: one row a variant, sanitizer, slice, metric and k: the pass@k of every task that counts, as a list.
with

slices as (select task_id, slice_kind, slice from task_slices),

scores as (select variant, sanitizer, task_id, prefix, k, n_judged, judgeable, pass_at_k from task_scores),

metrics as (select metric, judgeable_only, unquarantined_only, prefix from score_metrics),

suspects as (select task_id, true as quarantined from quarantined_tasks),

candidates as (
    select
        variant, sanitizer, slice_kind, slice, metric, k, n_judged, pass_at_k,
        not isnan(pass_at_k)
        and (judgeable or not judgeable_only)
        and not (unquarantined_only and coalesce(quarantined, false)) as counts
    from scores join slices using (task_id) left join suspects using (task_id) join metrics using (prefix)
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
