-- Grain: one row a recorded run, variant, sanitizer and k: both scores over all tasks, and what limits them.
-- pass_at_k: the score over all tasks, a share in 0..1; null where no task has k judged samples
-- ci_low: lower end of the score's 95 % interval
-- ci_high: upper end of the score's 95 % interval
-- n_tasks: tasks behind the score
-- n_samples: samples behind the score
-- pass_at_k_judgeable: the score over the tasks whose own solution passes; null where that is not known
-- n_tasks_judgeable: tasks behind that score
-- ground_truth_rate: share of tasks whose own solution passes; null where that is not known
-- provisional: samples are left that were not judged, for reasons outside of them
-- split_mismatch: the model was asked prompts of another split, so that the score does not count; null: not known
-- contradicted: its tasks show tests that contradict their descriptions, so that the score does not count
-- n_tasks_excluded: quarantined tasks that were left out of the scores
with

overall as (select * from stored.metrics where slice_kind = 'all'),

scores as (select * from overall where metric = 'pass@k'),

judgeable as (select artifact, variant, sanitizer, k, value, n_tasks from overall where metric = 'pass@k_judgeable'),

counts as (
    select
        artifact, variant, sanitizer,
        any_value(value) filter (metric = 'infra_error_count') as n_infra_errors,
        any_value(value) filter (metric = 'excluded_task_count') as n_excluded
    from overall
    group by all
),

ground_truths as (select artifact, value from overall where metric = 'ground_truth_rate')

select
    runs.record,
    runs.run,
    runs.model,
    runs.finished_at,
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
    coalesce(counts.n_infra_errors, 0) > 0 as provisional,
    runs.split_mismatch,
    runs.contradicted,
    -- A score with any excluded task is one of fewer tasks than the dataset has, and no match for the others.
    coalesce(counts.n_excluded, 0)::integer as n_tasks_excluded
from runs
join scores on scores.artifact = runs.aggregation_key
left join judgeable
    on judgeable.artifact = scores.artifact and judgeable.variant = scores.variant and judgeable.k = scores.k
    -- Null is the sanitizer of imported runs.
    and judgeable.sanitizer is not distinct from scores.sanitizer
left join counts
    on counts.artifact = scores.artifact and counts.variant = scores.variant
    and counts.sanitizer is not distinct from scores.sanitizer
left join ground_truths on ground_truths.artifact = scores.artifact
