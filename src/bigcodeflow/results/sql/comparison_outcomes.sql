-- Grain: one row: what became of a run's samples of one variant and sanitizer, and what judging them took.
with

verdicts as (
    select status, cpu_seconds
    from source_verdicts where variant = $variant and sanitizer = $sanitizer
)

select
    count(*) as n_samples,
    count(*) filter (status = 'timeout') as timeout_count,
    count(*) filter (status = 'tampered') as tampered_count,
    count(*) filter (status = 'infra_error') as infra_error_count,
    -- Null where nothing was executed here; imports of an earlier version have NaN, which DuckDB's isnan may overlook.
    (sum(cpu_seconds) filter (isfinite(cpu_seconds)))::double as cpu_seconds
from verdicts
