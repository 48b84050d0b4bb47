-- Grain: one row a task that was judged: its samples of one variant and sanitizer, given, judged and passed.
select
    task_id,
    count(*) as n_given,
    -- An infra_error says nothing about the sample: counting it would make it a fail.
    count(*) filter (status <> 'infra_error') as n_judged,
    count(*) filter (status = 'pass') as n_passed
from source_verdicts
where variant = $variant and sanitizer = $sanitizer
group by task_id
