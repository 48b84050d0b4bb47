-- Grain: one row an artifact of a recorded run: what its runs have in common; null where they differ.
select
    key as artifact,
    case when count(distinct model) = 1 then any_value(model) end as model,
    case when count(distinct split) = 1 then any_value(split) end as split,
    case when count(distinct subset) = 1 then any_value(subset) end as subset
from stored.run_files
group by key
