-- Grain: one row a variant, sanitizer, task, prefix of tests and reported k: the task's unbiased pass@k, NaN for fewer than k samples.
with

-- A k is reported only when every task was given k samples: else scores of different k's would mix different tasks.
reported as (
    select variant, sanitizer, k
    from task_counts cross join requested_k
    group by all
    having min(n_given) >= k
)

select
    variant,
    sanitizer,
    task_id,
    prefix,
    k,
    n_judged,
    judgeable,
    case
        when n_judged < k then 'nan'::double
        -- list_product of an empty list, which is no sample passed, is null.
        else 1 - coalesce(
            list_product([1.0::double - k::double / i for i in range(n_judged - n_passed + 1, n_judged + 1)]), 1
        )
    end as pass_at_k
from task_counts join reported using (variant, sanitizer)
