-- Grain: one row a recorded run, task, sample_index, variant and sanitizer that was judged and did not pass.
-- failing_tests: names of the tests that failed, ended in an error or never reported, in expected order; null: not told by an import
-- first_trace: the module's own traceback, else that of the first failing test, else how the sandbox ended
with

failing as (
    select
        record, run, model, split, subset, task_id, sample_index, variant, sanitizer, status, failure_kind, module_trace,
        exit, tests_run,
        list_filter(tests, lambda test: test.outcome in ('fail', 'error', 'missing')) as failing_tests
    from verdicts
    where status not in ('pass', 'infra_error')
)

select
    failing.* exclude (module_trace, exit, tests_run, failing_tests),
    case when tests_run is not null then list_transform(failing_tests, lambda test: test.name) end as failing_tests,
    coalesce(nullif(module_trace, ''), nullif(failing_tests[1].trace, ''), exit) as first_trace
from failing
