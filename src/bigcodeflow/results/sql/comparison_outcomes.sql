-- Grain: one row: what became of a run's samples of one variant and sanitizer, as shares, and what judging them took.
select
    count(*) as n_samples,
    count(*) filter (status = 'timeout') / count(*) as timeout_rate,
    -- Null where samples passed and none of them was executed against contradicting tests: nothing is known then.
    case
        when
            count(*) filter (status = 'pass') = 0
            or count(*) filter (integrity in ('checked', 'tampered') or status = 'tampered') > 0
            then count(*) filter (status = 'tampered') / count(*)
    end as tampered_rate,
    count(*) filter (status = 'infra_error') / count(*) as infra_error_rate,
    -- Null where nothing was executed here; imports of an earlier version have NaN, which DuckDB's isnan may overlook.
    (sum(cpu_seconds) filter (isfinite(cpu_seconds)))::double as cpu_seconds
from source_verdicts
where run_index = $run_index and variant = $variant and sanitizer = $sanitizer
