-- Grain: one row a task of the run, in the order of the dataset: what it is.
select
    task_id,
    position,
    sha256(test) as test_sha256,
    list_sort(list_distinct(libs)) as libs,
    list_sort(list_distinct(domains)) as domains,
    hard,
    length(case when $split = 'instruct' then instruct_prompt else complete_prompt end) as prompt_characters
from source_tasks
order by position, task_id
