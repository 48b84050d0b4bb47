-- Grain: one row a sample, variant and sanitizer of the executions $artifacts and tasks $tasks that has all $words or is in $also.
-- hits: bit i is set where word i occurs in the names of the run, or in the traits of the task
-- number: place of the execution in $artifacts; position: place of the task in $tasks
with

listed as (
    select unnest(from_json($artifacts, '[{"artifact":"VARCHAR","number":"INTEGER","hits":"BIGINT"}]'), recursive := true)
),

tasks as (
    select unnest(from_json($tasks, '[{"task_id":"VARCHAR","position":"INTEGER","hits":"BIGINT"}]'), recursive := true)
),

also as (
    select unnest(from_json($also, '[["VARCHAR"]]')) as identity
),

described as (
    select
        verdicts.*,
        listed.number,
        tasks.position,
        listed.hits | tasks.hits as hits,
        -- The blank behind the task's id lets "task/1 " be told from "task/10".
        lower(concat_ws(
            ' ', verdicts.task_id, replace(status, '_', ' '), status, replace(failure_kind, '_', ' '), cause
        )) as text
    from stored.verdicts as verdicts join listed using (artifact) join tasks using (task_id)
    where $variant in ('', variant)
)

select number, position, task_id, sample_index, variant, sanitizer, status, failure_kind, cause
from described
where
    list_bool_and(
        list_transform($words::varchar[], lambda word, place: contains(text, word) or (hits >> (place - 1)) & 1 = 1)
    ) is not false
    or [task_id, sample_index::varchar, variant, coalesce(sanitizer, 'unknown')] in (from also)
