-- Grain: one row a recorded run, variant, sanitizer and k: both scores over all tasks, and what limits them.
with

records as (select record, run, finished_at, aggregation_key from runs),

overall as (select * from aggregation where slice_kind = 'all'),

scores as (select * from overall where metric = 'pass@k'),

judgeable as (select artifact, variant, sanitizer, k, value, n_tasks from overall where metric = 'pass@k_judgeable'),

infra_errors as (select artifact, variant, sanitizer, value from overall where metric = 'infra_error_count'),

ground_truths as (select artifact, value from overall where metric = 'ground_truth_rate')

select
    records.record,
    records.run,
    records.finished_at,
    scores.split,
    scores.subset,
    scores.variant,
    scores.sanitizer,
    scores.k,
    scores.value as pass_at_k,
    scores.ci_low,
    scores.ci_high,
    scores.n_tasks,
    scores.n_samples,
    judgeable.value as pass_at_k_judgeable,
    judgeable.n_tasks as n_tasks_judgeable,
    ground_truths.value as ground_truth_rate,
    coalesce(infra_errors.value, 0) > 0 as provisional
from records
join scores on scores.artifact = records.aggregation_key
left join judgeable using (artifact, variant, sanitizer, k)
left join infra_errors using (artifact, variant, sanitizer)
left join ground_truths using (artifact)
