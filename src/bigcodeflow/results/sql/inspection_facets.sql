-- Grain: one row a facet (status, kind, library, domain, variant, task) and value that the run has.
with

verdicts as (select task_id, status, failure_kind, variant from source_verdicts semi join source_tasks using (task_id)),

facets as (
    select 'status' as facet, status as value, 0 as place from verdicts
    union
    select 'kind', failure_kind, 0 from verdicts where failure_kind <> ''
    union
    select 'variant', variant, 0 from verdicts
    union
    select 'library', unnest(libs), 0 from source_tasks
    union
    select 'domain', unnest(domains), 0 from source_tasks
    union
    select 'task', task_id, position from source_tasks
)

select facet, value from facets order by facet, place, value
