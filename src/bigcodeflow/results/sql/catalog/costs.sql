-- Grain: one row a recorded run: tokens, price and time. Runs that share a generation_key show one and the same price.
-- n_answers: answers of the model; null where an import brought none
-- n_cost_known: of these, the ones whose price is known
-- n_unanswered: of these, the ones that ended in an error
-- n_truncated: of these, the ones that the token limit cut off; null where it is known of no answer how it ended
-- n_refused: of these, refusals; null likewise
-- cost_usd: price of the answers in US dollars, of those whose price is known; null where it is known of none
-- prompt_tokens: tokens sent; null where it is known of no answer
-- cached_tokens: of these, tokens that a cache of the provider's held
-- completion_tokens: tokens received, reasoning included
-- reasoning_tokens: tokens of hidden reasoning
-- median_latency_seconds: request sent to answer complete
-- n_verdicts: samples judged or tried, over all variants
-- cpu_seconds: CPU time of judging them, verdicts found in the cache included; null where nothing was measured
-- wall_seconds: sum of their sandboxes' wall times, which overlap; null where nothing was measured
-- run_seconds: start to end of the run; null for an imported one
with

judging as (
    select
        artifact,
        sum(n_samples)::bigint as n_verdicts,
        fsum(cpu_seconds) as cpu_seconds,
        fsum(wall_seconds) as wall_seconds
    from stored.outcomes
    group by artifact
)

select
    record, run, model, split, subset, generation_key,
    answers.n_answers,
    answers.n_cost_known,
    answers.n_unanswered,
    answers.n_truncated,
    answers.n_refused,
    answers.cost_usd,
    answers.prompt_tokens,
    answers.cached_tokens,
    answers.completion_tokens,
    answers.reasoning_tokens,
    answers.median_latency_seconds,
    judging.n_verdicts,
    judging.cpu_seconds,
    judging.wall_seconds,
    -- An imported run has one moment, the end of an evaluation whose start nobody knows.
    nullif(epoch(runs.finished_at - runs.started_at), 0) as run_seconds
from runs
left join stored.answers on answers.artifact = runs.generation_key
left join judging on judging.artifact = runs.execution_key
