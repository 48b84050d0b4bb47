-- Grain: one row a variant and sanitizer that the run was judged in, with where that was done.
select
    variant,
    sanitizer,
    list_sort(list(distinct backend)) as backends,
    list_sort(list(distinct environment_sha)) as environment_shas
from source_verdicts
group by variant, sanitizer
order by variant, sanitizer
