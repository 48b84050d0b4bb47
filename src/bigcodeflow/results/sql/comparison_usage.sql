-- Grain: one row: what a run's answers took, over those of which it is known; null where it is known of none.
with

samples as (
    select finish_reason, prompt_tokens, completion_tokens, reasoning_tokens, cost_usd, latency_seconds
    from source_samples
)

select
    count(*) filter (finish_reason = 'length') / nullif(count(finish_reason), 0) as truncated_rate,
    count(*) filter (finish_reason = 'refusal') / nullif(count(finish_reason), 0) as refusal_rate,
    sum(prompt_tokens)::bigint as prompt_tokens,
    sum(completion_tokens)::bigint as completion_tokens,
    sum(reasoning_tokens)::bigint as reasoning_tokens,
    sum(cost_usd)::double as cost_usd,
    count(cost_usd) as n_cost_known,
    median(latency_seconds)::double as median_latency_seconds
from samples
