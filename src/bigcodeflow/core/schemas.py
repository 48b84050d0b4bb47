"""Schemas of the tables that stages exchange: each with its grain, each column with its meaning and unit."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from bigcodeflow.core.plugins import loaded_study, study_entries
from bigcodeflow.core.untrusted_text import storable

#: Folder in a store for each artifact of a run; ground truths and samples share one folder, so that they share
#: verdicts.
STAGE_FOLDERS: Mapping[str, str] = {
    stage: "execution" if stage == "ground_truth" else stage
    for stage in ("dataset", "generation", "sanitizing", "ground_truth", "execution", "aggregation")
}
#: Prefix of ids of tasks that show a test against their description: scores over them are not the benchmark's.
CONTRADICTED_PREFIX = "Contradicted/"
#: Separates a task's id from the suffix of its variant: scores over variants are not the benchmark's.
VARIANT_SEPARATOR = "~"
#: Folder of a store with dataset and sample files that studies have made; a study can make them again.
DERIVED_FOLDER = "studies"
#: Value in imported rows if a column needs a text that nobody knows.
UNKNOWN = "unknown"

TEXT = pa.string()
COUNT = pa.int32()
TEXTS = pa.list_(pa.string())


def column(name: str, kind: pa.DataType, meaning: str, *, nullable: bool = False) -> "pa.Field[Any]":
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning})


def _schema(*columns: "pa.Field[Any]") -> pa.Schema:
    return pa.schema(columns)


nullable = partial(column, nullable=True)
#: Columns that identify a sample.
SAMPLE_KEY = (
    column("task_id", TEXT, "the task answered"),
    column("sample_index", COUNT, "0-based number of the answer to this task"),
)
_SANITIZER = column("sanitizer", TEXT, "none, parity or robust; unknown if imported")

FINDING = pa.struct(
    [
        pa.field("rule", TEXT),  # dynamic_code, process, deletion, network, environment, import, evaluator, unreadable
        pa.field("line", COUNT),  # 1-based line of the solution
        pa.field("detail", TEXT),  # what was written there, such as "os.system"
    ]
)

TEST_RESULT = pa.struct(
    [
        pa.field("name", TEXT),  # method name within TestCases
        pa.field("outcome", TEXT),  # pass, fail, error, skip, expected_failure, unexpected_success, missing
        pa.field("seconds", pa.float64()),  # wall time of the method with its setUp and tearDown; null if imported
        pa.field("trace", TEXT),  # traceback text; empty for a pass
    ]
)

#: Grain: one row per task.
TASKS = _schema(
    column("task_id", TEXT, "BigCodeBench/0, …; unique"),
    column("position", COUNT, "0-based place in the source, before any filter"),
    column("complete_prompt", TEXT, "imports, signature and docstring to be completed"),
    column("instruct_prompt", TEXT, "the same task in prose"),
    column("canonical_solution", TEXT, "body only, indented; follows complete_prompt"),
    column("code_prompt", TEXT, "imports and signature without docstring"),
    column("test", TEXT, "unittest module text with class TestCases"),
    column("entry_point", TEXT, "name of the function under test"),
    column("doc_struct", TEXT, "JSON text of the docstring's parts"),
    column("libs", TEXTS, "libraries that the task uses"),
    column("domains", TEXTS, "distinct domains of libs, sorted"),
    column("hard", pa.bool_(), "member of BigCodeBench-Hard"),
    column("expected_tests", TEXTS, "test methods read statically from test, in loader (sorted) order"),
)

#: Grain: one row per task and sample_index.
SAMPLES = _schema(
    *SAMPLE_KEY,
    column("raw_text", TEXT, "the answer as the model gave it; what the sanitizer reads"),
    nullable("given_solution", TEXT, "program that the source states as final; null: none stated"),
    column("provider", TEXT, "replay, oracle, stub, cheat, imported, openai, …"),
    nullable("served_model", TEXT, "model name as the provider reports it"),
    nullable("request_id", TEXT, "what the provider calls the request"),
    nullable("prompt_sha", TEXT, "sha256 of the turns or the text that the model read"),
    nullable("template_sha", TEXT, "sha256 of what the prompt was made with, without the task"),
    nullable("request", TEXT, "JSON of exactly what was sent, without address and key"),
    nullable("reasoning", TEXT, "reasoning that came apart from the answer"),
    nullable("finish_reason", TEXT, "stop, length (cut off), refusal, empty, tool_calls, unanswerable or other"),
    nullable("prompt_tokens", COUNT, "tokens sent"),
    nullable("cached_tokens", COUNT, "of these, tokens that a cache of the provider's held"),
    nullable("completion_tokens", COUNT, "tokens received, reasoning included"),
    nullable("reasoning_tokens", COUNT, "tokens of hidden reasoning"),
    nullable("cost_usd", pa.float64(), "price of the answer in US dollars"),
    nullable("latency_seconds", pa.float64(), "request sent to answer complete"),
    nullable("seed", pa.int64(), "sampling seed sent"),
    column("attempts", COUNT, "requests made until this answer came"),
    nullable("error", TEXT, "why there is no answer"),
)

#: Grain: one row per task, sample_index and sanitizer.
SOLUTIONS = _schema(
    *SAMPLE_KEY,
    _SANITIZER,
    column("solution", TEXT, "program text that is executed (before calibration)"),
    column("syntax_ok", pa.bool_(), "the solution compiles as Python"),
    column("syntax_error", TEXT, "message with line; empty when syntax_ok"),
    column("findings", pa.list_(FINDING), "safety findings, in line order"),
    column("blocked", pa.bool_(), "not executed: the safety policy forbids it, or no model answered"),
    column("omitted_setup", pa.bool_(), "uses imports or constants of code_prompt without stating them"),
    column("placeholder", pa.bool_(), "the entry point's body does no work"),
    column("truncated", pa.bool_(), "the answer was cut off by the token limit"),
    nullable("shortened", pa.bool_(), "lacks code of the answer that it needs; null: of a version that did not look"),
)

#: Grain: one row per task, sample_index, variant and sanitizer. Ground truths have sanitizer "none".
VERDICTS = _schema(
    *SAMPLE_KEY,
    column("variant", TEXT, "calibrated (code_prompt put in front) or raw"),
    _SANITIZER,
    column("verdict_key", TEXT, "sha256 of program, test, environment, limits and harness version"),
    column("status", TEXT, "pass, fail, timeout, out_of_memory, syntax_error, crash, tampered, infra_error"),
    column("failure_kind", TEXT, "finer cause, see judge.failure_kinds; empty: a pass, or unknown if imported"),
    column("tests", pa.list_(TEST_RESULT), "one entry an expected test, in expected order; none if imported without"),
    column("module_trace", TEXT, "traceback of the module itself; empty when it loaded"),
    column("tests_expected", COUNT, "tests read statically from the task"),
    nullable("tests_run", COUNT, "tests that reported an outcome; null: not told by an import"),
    nullable("wall_seconds", pa.float64(), "sandbox start to end; null in this and the next three if imported"),
    nullable("cpu_seconds", pa.float64(), "CPU time of all processes of the sandbox"),
    nullable("test_cpu_seconds", pa.float64(), "of these, what program and tests took, libraries being imported"),
    nullable("max_rss_mib", pa.float64(), "peak resident memory of the sandbox"),
    column("stdout", TEXT, "tail of standard output"),
    column("stderr", TEXT, "tail of standard error"),
    column("stdout_truncated", pa.bool_(), "earlier output was dropped"),
    column("stderr_truncated", pa.bool_(), "earlier output was dropped"),
    column("attempts", COUNT, "executions that this verdict rests on, disturbed ones included"),
    nullable("flaky", pa.bool_(), "repeated executions disagreed; null: executed once"),
    column("tampering", TEXTS, "what was seen that no honest program does"),
    nullable(
        "integrity", TEXT, "of a sample that passed: checked, tampered, no contradiction or not checked; else null"
    ),
    nullable("integrity_key", TEXT, "verdict_key of its execution against a contradiction"),
    column("backend", TEXT, "local, docker, e2b, gradio or http; imported: judged elsewhere"),
    column("environment_sha", TEXT, "identity of the libraries and data inside the sandbox; unknown if imported"),
    column("exit", TEXT, "how the sandbox ended: 'exit 0', 'signal 9', 'killed: wall', …"),
)

#: Grain: one row per variant, sanitizer, slice, metric and k of one run.
METRICS = _schema(
    column("split", TEXT, "complete or instruct"),
    column("subset", TEXT, "full or hard"),
    column("variant", TEXT, "calibrated or raw"),
    _SANITIZER,
    column("slice_kind", TEXT, "all, domain, library, status, failure_kind, integrity or solution (its flags)"),
    column("slice", TEXT, "the domain, library, status, failure kind, check or flag; 'all' otherwise"),
    column(
        "metric",
        TEXT,
        "pass@k, pass@k:PART (of tests with a benchmark's prefix), pass@k_judgeable, pass@k_unquarantined, "
        "pass@k_with_quarantined, pass^k, g_pass@k_0.5, g_pass@k_0.75, mg_pass@k, avg@n, bayes@n, ground_truth_rate, "
        "ground_truth_flaky_count, sample_count, sample_share, infra_error_count, rerun_count, flaky_count, "
        "quarantined_task_count, excluded_task_count",
    ),
    nullable("k", COUNT, "k of pass@k, pass^k, g_pass@k and mg_pass@k; null for other metrics"),
    nullable("value", pa.float64(), "a share in 0..1, or a count; NaN where n < k, null in the catalog"),
    nullable("standard_error", pa.float64(), "across tasks, of bayes@n the posterior's; null for counts"),
    nullable("ci_low", pa.float64(), "lower end of the 95 % interval, of bayes@n the credible one"),
    nullable("ci_high", pa.float64(), "upper end of the 95 % interval, of bayes@n the credible one"),
    column("n_tasks", COUNT, "tasks behind the value"),
    column("n_samples", COUNT, "samples behind the value"),
)

ALTERATION = pa.struct(
    [
        column("test", TEXT, "name of the test method that it decides"),
        column("line", COUNT, "1-based, in the test text; 0: unaltered"),
        column(
            "kind",
            TEXT,
            "contradiction: a solution fails the method; pin, separate (the program in a process of its own) and "
            "control (unaltered): it passes",
        ),
        column("before", TEXT, "source in the task's test"),
        column("after", TEXT, "source in the altered test"),
        column("valid", pa.bool_(), "the reference solution did so in every execution"),
    ]
)

#: Grain: one row per execution of a reference solution, or of its stub, against one altered test text.
CONTRADICTIONS = _schema(
    column("verdict_key", TEXT, "sha256 of program, altered test, environment, limits and harness version"),
    column("task_id", TEXT, "the task whose test was altered"),
    column("variant", COUNT, "even: false text, odd: true text, 4: separated execution; -1: values were recorded"),
    column("source", TEXT, "sha256 of what the altered text is made of"),
    column("text", TEXT, "the altered test; empty for variant -1 where no expected value can be recorded"),
    column("pins", TEXT, "JSON of recorded expected values by place in the test text; empty but for variant -1"),
    column("alterations", pa.list_(ALTERATION), "at most one a test method"),
    column("seconds", pa.list_(pa.float64()), "wall time of each executed test, in their order"),
)

#: Grain: one row per task and test text whose ground truth `bigcodeflow env check --repeat` ran in one environment.
QUARANTINE = _schema(
    column("task_id", TEXT, "the task whose own solution was executed"),
    column("test_sha256", TEXT, "sha256 of the test text; another text of that id has a row of its own"),
    column("harness_version", COUNT, "judge that executed; counts start anew with another"),
    column("executions", COUNT, "fresh executions so far, infrastructure errors left out"),
    column("passes", COUNT, "those that passed; fewer than executions: the task is in quarantine"),
    column("statuses", TEXTS, "distinct statuses seen, sorted"),
    column("reason", TEXT, "what the latest failure needs: network, data, a library, …; empty where all passed"),
    column("evidence", TEXT, "what the latest failure says; empty where all passed"),
)


def study_schema(grain: str, *columns: "pa.Field[Any]") -> pa.Schema:
    """Return the schema of a study's result table; ``grain`` says what a row of the table is."""
    return _schema(*columns).with_metadata({"grain": grain})


def study_schemas() -> dict[str, pa.Schema]:
    """Return the schemas of the results of all installed studies, by the study's name."""
    return {name: study.schema for name in study_entries() if (study := loaded_study(name)) is not None}


#: Columns of the hub dataset, all strings there; a user's own task file must have them.
HUB_COLUMNS = tuple(name for name in TASKS.names if name not in {"position", "domains", "hard", "expected_tests"})


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Build a table from rows; replace lone surrogates in texts, because Arrow rejects such texts."""
    rows = list(rows)
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except UnicodeEncodeError:
        return pa.Table.from_pylist([_storable(row) for row in rows], schema=schema)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {name: _storable(inner) for name, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list | tuple) else value
