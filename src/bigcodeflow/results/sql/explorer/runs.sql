-- Grain: one row a recorded run: what the list of all runs shows of it; the score is that of its first variant and sanitizer at its smallest k.
with

records as (
    select
        record, run, model, split, subset, split_mismatch, contradicted, task_variants, selection, setting, setting_key,
        environment_sha, harness_version, tags, note, archived,
        started_at, dataset_key, generation_key, execution_key,
        json_extract_string(config, '$.execution.environment') as environment,
        json_extract_string(config, '$.generation.base_url') as address,
        json_extract_string(config, '$.samples.source') as source,
        json_extract_string(config, '$.dataset.source') as dataset
    from runs
),

leads as (
    select record, variant, sanitizer, k, pass_at_k, ci_low, ci_high, n_tasks, provisional
    from pass_at_k
    qualify row_number() over (partition by record order by variant, sanitizer, k) = 1
),

used as (
    select record, n_answers, cost_usd, n_cost_known, prompt_tokens, completion_tokens, cpu_seconds, run_seconds
    from costs
)

select records.*, leads.* exclude (record), used.* exclude (record)
from records
left join leads using (record)
left join used using (record)
order by records.started_at desc, records.record desc
