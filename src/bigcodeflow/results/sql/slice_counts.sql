-- Grain: one row a variant, sanitizer and slice: samples judged and passed of each task that counts in pass@k, as lists.
with

left_out as (
    select task_id from quarantined_tasks, score_metrics where metric = 'pass@k' and unquarantined_only
),

counts as (
    select
        variant, sanitizer, task_id, n_judged, n_passed,
        min(n_given) over (partition by variant, sanitizer) as fewest_given
    from task_counts where prefix = ''
)

select
    variant,
    sanitizer,
    slice_kind,
    slice,
    fewest_given,
    list(n_judged order by task_id) as judged,
    list(n_passed order by task_id) as passed
from counts join task_slices using (task_id) anti join left_out using (task_id)
-- With one sample a task these metrics are all pass@1 again.
where fewest_given > 1 and n_judged > 0
group by all
order by variant, sanitizer, slice_kind, slice
