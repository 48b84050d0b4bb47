-- Grain: one row a sample: what its answer took, from the file of answers $file.
select
    provider,
    served_model,
    reasoning,
    finish_reason,
    prompt_tokens,
    cached_tokens,
    completion_tokens,
    reasoning_tokens,
    case when isfinite(cost_usd) then cost_usd end as cost_usd,
    case when isfinite(latency_seconds) then latency_seconds end as latency_seconds,
    attempts,
    seed,
    error
from read_parquet($file, hive_partitioning = false)
where task_id = $task_id and sample_index = $sample_index
