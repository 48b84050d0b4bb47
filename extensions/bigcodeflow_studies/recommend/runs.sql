-- Grain: one row a recorded run with a judged sample: in which variant and sanitizer it counts, on how many tasks, and what an answer took.
-- cost_usd: mean price of an answer, over those of which it is known
-- latency_seconds: median time until an answer was complete
with

records as (
    select
        record, model, split, split_mismatch, contradicted, task_variants, started_at, generation_key,
        ground_truth_key as truths, execution_key as artifact, setting, setting_key,
        json_extract_string(config, '$.samples.source') as source
    from runs
    where not archived
),

kinds as (
    select artifact, variant, sanitizer, count(distinct task_id)::integer as n_tasks
    from stored.outcomes
    where status <> 'infra_error'
    group by artifact, variant, sanitizer
),

leads as (
    select * from kinds
    qualify row_number() over (partition by artifact order by variant, sanitizer) = 1
)

select
    records.*,
    leads.variant,
    leads.sanitizer,
    leads.n_tasks,
    (answers.cost_usd / nullif(answers.n_cost_known, 0))::double as cost_usd,
    answers.median_latency_seconds::double as latency_seconds
from records
join leads on leads.artifact = records.artifact
left join stored.answers on answers.artifact = records.generation_key
order by records.record
