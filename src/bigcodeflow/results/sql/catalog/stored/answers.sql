-- Grain: one row a generation artifact: what its answers took, over those of which it is known.
select
    artifact,
    nullif(count(raw_text), 0) as n_answers,
    case when count(raw_text) > 0 then count(*) filter (error is not null) end as n_unanswered,
    case when count(finish_reason) > 0 then count(*) filter (finish_reason = 'length') end as n_truncated,
    case when count(finish_reason) > 0 then count(*) filter (finish_reason = 'refusal') end as n_refused,
    sum(prompt_tokens)::bigint as prompt_tokens,
    sum(cached_tokens)::bigint as cached_tokens,
    sum(completion_tokens)::bigint as completion_tokens,
    sum(reasoning_tokens)::bigint as reasoning_tokens,
    fsum(cost_usd) as cost_usd,
    count(cost_usd) as n_cost_known,
    median(latency_seconds) as median_latency_seconds,
    -- The templates identify the split that was asked.
    coalesce(list(distinct template_sha) filter (template_sha is not null), []) as templates
from fresh
group by artifact
