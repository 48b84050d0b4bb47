-- Grain: one row a task and slice that it belongs to: 'all', each of its domains, each of its libraries.
select task_id, 'all' as slice_kind, 'all' as slice from source_tasks
union all
select task_id, 'domain', unnest(list_distinct(domains)) from source_tasks
union all
select task_id, 'library', unnest(list_distinct(libs)) from source_tasks
