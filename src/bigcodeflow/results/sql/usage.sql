-- Grain: one row a run: what its answers took, over those of which it is known, and what judging them took.
with

asked as (
    select
        run_index,
        count(*)::integer as n_answers,
        count(completion_tokens)::integer as n_with_tokens,
        count(*) filter (finish_reason = 'length') / nullif(count(finish_reason), 0) as truncated_rate,
        count(*) filter (finish_reason = 'refusal') / nullif(count(finish_reason), 0) as refusal_rate,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        sum(reasoning_tokens)::bigint as reasoning_tokens,
        count(cost_usd)::integer as n_cost_known,
        sum(cost_usd)::double as cost_usd,
        median(latency_seconds)::double as median_latency_seconds
    from source_samples
    group by run_index
),

judged as (
    -- Null where nothing was executed here; imports of an earlier version have NaN, which DuckDB's isnan may overlook.
    select run_index, sum(cpu_seconds) filter (isfinite(cpu_seconds)) as judging_cpu_seconds
    from source_verdicts as verdicts
    group by run_index
)

select runs.run_index, asked.* exclude (run_index), judged.* exclude (run_index)
from runs left join asked using (run_index) left join judged using (run_index)
order by runs.run_index
