-- Grain: one row a recorded run, task, sample_index, variant and sanitizer that was judged and did not pass.
with

judged as (select * from verdicts where status not in ('pass', 'infra_error')),

failing as (
    select
        record, run, task_id, sample_index, variant, sanitizer, status, failure_kind, module_trace, exit,
        list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing')) as failing_tests
    from judged
)

select
    record,
    run,
    task_id,
    sample_index,
    variant,
    sanitizer,
    status,
    failure_kind,
    list_transform(failing_tests, lambda test: test.name) as failing_tests,
    coalesce(nullif(module_trace, ''), nullif(failing_tests[1].trace, ''), exit) as first_trace
from failing
