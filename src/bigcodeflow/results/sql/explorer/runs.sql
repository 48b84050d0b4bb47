-- Grain: one row a recorded run: what the list of all runs shows of it; the score is that of its first variant and sanitizer at its smallest k.
with

records as (
    select
        record, run, model, split, subset, split_mismatch, contradicted, task_variants, setting, setting_key,
        environment_sha, harness_version,
        started_at, finished_at, dataset_key, generation_key,
        ground_truth_key, execution_key, aggregation_key,
        json_extract_string(config, '$.execution.environment') as environment,
        json_extract_string(config, '$.generation.base_url') as address,
        json_extract_string(config, '$.samples.source') as source
    from runs
),

files as (select record, file from stored.run_files where artifact = 'execution'),

leads as (
    select
        record, variant, sanitizer, k, pass_at_k, ci_low, ci_high, n_tasks, n_samples, pass_at_k_judgeable,
        ground_truth_rate, provisional
    from pass_at_k
    qualify row_number() over (partition by record order by variant, sanitizer, k) = 1
),

used as (
    select
        record, n_answers, n_unanswered, cost_usd, n_cost_known, prompt_tokens, completion_tokens, reasoning_tokens,
        median_latency_seconds, cpu_seconds, run_seconds
    from costs
)

select records.*, files.file as execution_file, leads.* exclude (record), used.* exclude (record)
from records
left join files using (record)
left join leads using (record)
left join used using (record)
order by records.started_at desc, records.record desc
