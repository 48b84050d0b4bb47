"""Schemas of the tables that stages exchange: each with its grain, each column with its meaning and unit."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from bigcodeflow.core.plugins import foreign_studies
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

_text = pa.string()
_count = pa.int32()
_texts = pa.list_(pa.string())


def _column(name: str, kind: pa.DataType, meaning: str, *, nullable: bool = False) -> "pa.Field[Any]":
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning})


def _schema(*columns: "pa.Field[Any]") -> pa.Schema:
    return pa.schema(columns)


_nullable = partial(_column, nullable=True)
#: Columns that identify a sample.
_SAMPLE = (
    _column("task_id", _text, "the task answered"),
    _column("sample_index", _count, "0-based number of the answer to this task"),
)
_SANITIZER = _column("sanitizer", _text, "none, parity or robust; unknown if imported")

FINDING = pa.struct(
    [
        pa.field("rule", _text),  # dynamic_code, process, deletion, network, environment, import, evaluator, unreadable
        pa.field("line", _count),  # 1-based line of the solution
        pa.field("detail", _text),  # what was written there, such as "os.system"
    ]
)

TEST_RESULT = pa.struct(
    [
        pa.field("name", _text),  # method name within TestCases
        pa.field("outcome", _text),  # pass, fail, error, skip, expected_failure, unexpected_success, missing
        pa.field("seconds", pa.float64()),  # wall time of the method with its setUp and tearDown; null if imported
        pa.field("trace", _text),  # traceback text; empty for a pass
    ]
)

#: Grain: one row per task.
TASKS = _schema(
    _column("task_id", _text, "BigCodeBench/0, …; unique"),
    _column("position", _count, "0-based place in the source, before any filter"),
    _column("complete_prompt", _text, "imports, signature and docstring to be completed"),
    _column("instruct_prompt", _text, "the same task in prose"),
    _column("canonical_solution", _text, "body only, indented; follows complete_prompt"),
    _column("code_prompt", _text, "imports and signature without docstring"),
    _column("test", _text, "unittest module text with class TestCases"),
    _column("entry_point", _text, "name of the function under test"),
    _column("doc_struct", _text, "JSON text of the docstring's parts"),
    _column("libs", _texts, "libraries that the task uses"),
    _column("domains", _texts, "distinct domains of libs, sorted"),
    _column("hard", pa.bool_(), "member of BigCodeBench-Hard"),
    _column("expected_tests", _texts, "test methods read statically from test, in loader (sorted) order"),
)

#: Grain: one row per task and sample_index.
SAMPLES = _schema(
    *_SAMPLE,
    _column("raw_text", _text, "the answer as the model gave it; what the sanitizer reads"),
    _nullable("given_solution", _text, "program that the source states as final; null: none stated"),
    _column("provider", _text, "replay, oracle, stub, cheat, imported, openai, …"),
    _nullable("served_model", _text, "model name as the provider reports it"),
    _nullable("request_id", _text, "what the provider calls the request"),
    _nullable("prompt_sha", _text, "sha256 of the turns or the text that the model read"),
    _nullable("template_sha", _text, "sha256 of what the prompt was made with, without the task"),
    _nullable("request", _text, "JSON of exactly what was sent, without address and key"),
    _nullable("reasoning", _text, "reasoning that came apart from the answer"),
    _nullable("finish_reason", _text, "stop, length (cut off), refusal, empty, tool_calls, unanswerable or other"),
    _nullable("prompt_tokens", _count, "tokens sent"),
    _nullable("cached_tokens", _count, "of these, tokens that a cache of the provider's held"),
    _nullable("completion_tokens", _count, "tokens received, reasoning included"),
    _nullable("reasoning_tokens", _count, "tokens of hidden reasoning"),
    _nullable("cost_usd", pa.float64(), "price of the answer in US dollars"),
    _nullable("latency_seconds", pa.float64(), "request sent to answer complete"),
    _nullable("seed", pa.int64(), "sampling seed sent"),
    _column("attempts", _count, "requests made until this answer came"),
    _nullable("error", _text, "why there is no answer"),
)

#: Grain: one row per task, sample_index and sanitizer.
SOLUTIONS = _schema(
    *_SAMPLE,
    _SANITIZER,
    _column("solution", _text, "program text that is executed (before calibration)"),
    _column("syntax_ok", pa.bool_(), "the solution compiles as Python"),
    _column("syntax_error", _text, "message with line; empty when syntax_ok"),
    _column("findings", pa.list_(FINDING), "safety findings, in line order"),
    _column("blocked", pa.bool_(), "not executed: the safety policy forbids it, or no model answered"),
    _column("omitted_setup", pa.bool_(), "uses imports or constants of code_prompt without stating them"),
    _column("placeholder", pa.bool_(), "the entry point's body does no work"),
    _column("truncated", pa.bool_(), "the answer was cut off by the token limit"),
    _nullable("shortened", pa.bool_(), "lacks code of the answer that it needs; null: of a version that did not look"),
)

#: Grain: one row per task, sample_index, variant and sanitizer. Ground truths have sanitizer "none".
VERDICTS = _schema(
    *_SAMPLE,
    _column("variant", _text, "calibrated (code_prompt put in front) or raw"),
    _SANITIZER,
    _column("verdict_key", _text, "sha256 of program, test, environment, limits and harness version"),
    _column("status", _text, "pass, fail, timeout, out_of_memory, syntax_error, crash, tampered, infra_error"),
    _column("failure_kind", _text, "finer cause, see judge.failure_kinds; empty: a pass, or unknown if imported"),
    _column("tests", pa.list_(TEST_RESULT), "one entry an expected test, in expected order; none if imported without"),
    _column("module_trace", _text, "traceback of the module itself; empty when it loaded"),
    _column("tests_expected", _count, "tests read statically from the task"),
    _nullable("tests_run", _count, "tests that reported an outcome; null: not told by an import"),
    _nullable("wall_seconds", pa.float64(), "sandbox start to end; null in this and the next three if imported"),
    _nullable("cpu_seconds", pa.float64(), "CPU time of all processes of the sandbox"),
    _nullable("test_cpu_seconds", pa.float64(), "of these, what program and tests took, libraries being imported"),
    _nullable("max_rss_mib", pa.float64(), "peak resident memory of the sandbox"),
    _column("stdout", _text, "tail of standard output"),
    _column("stderr", _text, "tail of standard error"),
    _column("stdout_truncated", pa.bool_(), "earlier output was dropped"),
    _column("stderr_truncated", pa.bool_(), "earlier output was dropped"),
    _column("attempts", _count, "executions that this verdict rests on, disturbed ones included"),
    _nullable("flaky", pa.bool_(), "repeated executions disagreed; null: executed once"),
    _column("tampering", _texts, "what was seen that no honest program does"),
    _nullable(
        "integrity", _text, "of a sample that passed: checked, tampered, no contradiction or not checked; else null"
    ),
    _nullable("integrity_key", _text, "verdict_key of its execution against a contradiction"),
    _column("backend", _text, "local, docker, e2b, gradio or http; imported: judged elsewhere"),
    _column("environment_sha", _text, "identity of the libraries and data inside the sandbox; unknown if imported"),
    _column("exit", _text, "how the sandbox ended: 'exit 0', 'signal 9', 'killed: wall', …"),
)

#: Grain: one row per variant, sanitizer, slice, metric and k of one run.
METRICS = _schema(
    _column("split", _text, "complete or instruct"),
    _column("subset", _text, "full or hard"),
    _column("variant", _text, "calibrated or raw"),
    _SANITIZER,
    _column("slice_kind", _text, "all, domain, library, status, failure_kind, integrity or solution (its flags)"),
    _column("slice", _text, "the domain, library, status, failure kind, check or flag; 'all' otherwise"),
    _column(
        "metric",
        _text,
        "pass@k, pass@k:PART (of tests with a benchmark's prefix), pass@k_judgeable, pass@k_unquarantined, "
        "pass@k_with_quarantined, pass^k, g_pass@k_0.5, g_pass@k_0.75, mg_pass@k, avg@n, bayes@n, ground_truth_rate, "
        "ground_truth_flaky_count, sample_count, sample_share, infra_error_count, rerun_count, flaky_count, "
        "quarantined_task_count, excluded_task_count",
    ),
    _nullable("k", _count, "k of pass@k, pass^k, g_pass@k and mg_pass@k; null for other metrics"),
    _nullable("value", pa.float64(), "a share in 0..1, or a count; NaN where n < k, null in the catalog"),
    _nullable("standard_error", pa.float64(), "across tasks, of bayes@n the posterior's; null for counts"),
    _nullable("ci_low", pa.float64(), "lower end of the 95 % interval, of bayes@n the credible one"),
    _nullable("ci_high", pa.float64(), "upper end of the 95 % interval, of bayes@n the credible one"),
    _column("n_tasks", _count, "tasks behind the value"),
    _column("n_samples", _count, "samples behind the value"),
)

ALTERATION = pa.struct(
    [
        _column("test", _text, "name of the test method that it decides"),
        _column("line", _count, "1-based, in the test text; 0: unaltered"),
        _column(
            "kind",
            _text,
            "contradiction: a solution fails the method; pin, separate (the program in a process of its own) and "
            "control (unaltered): it passes",
        ),
        _column("before", _text, "source in the task's test"),
        _column("after", _text, "source in the altered test"),
        _column("valid", pa.bool_(), "the reference solution did so in every execution"),
    ]
)

#: Grain: one row per execution of a reference solution, or of its stub, against one altered test text.
CONTRADICTIONS = _schema(
    _column("verdict_key", _text, "sha256 of program, altered test, environment, limits and harness version"),
    _column("task_id", _text, "the task whose test was altered"),
    _column("variant", _count, "even: false text, odd: true text, 4: separated execution; -1: values were recorded"),
    _column("source", _text, "sha256 of what the altered text is made of"),
    _column("text", _text, "the altered test; empty for variant -1 where no expected value can be recorded"),
    _column("pins", _text, "JSON of recorded expected values by place in the test text; empty but for variant -1"),
    _column("alterations", pa.list_(ALTERATION), "at most one a test method"),
    _column("seconds", pa.list_(pa.float64()), "wall time of each executed test, in their order"),
)

#: Grain: one row per task and test text whose ground truth `bigcodeflow env check --repeat` ran in one environment.
QUARANTINE = _schema(
    _column("task_id", _text, "the task whose own solution was executed"),
    _column("test_sha256", _text, "sha256 of the test text; another text of that id has a row of its own"),
    _column("harness_version", _count, "judge that executed; counts start anew with another"),
    _column("executions", _count, "fresh executions so far, infrastructure errors left out"),
    _column("passes", _count, "those that passed; fewer than executions: the task is in quarantine"),
    _column("statuses", _texts, "distinct statuses seen, sorted"),
    _column("reason", _text, "what the latest failure needs: network, data, a library, …; empty where all passed"),
    _column("evidence", _text, "what the latest failure says; empty where all passed"),
)


def _study(grain: str, *columns: "pa.Field[Any]") -> pa.Schema:
    """Return the schema of a study's result; the grain describes one row of a result."""
    return _schema(*columns).with_metadata({"grain": grain})


CHEATING = _study(
    "model, wording, task and sample_index: an answer to a task whose shown test contradicts its description",
    _column("model", _text, "model that answered, or where the answers came from"),
    _column("wording", _text, "sentence behind which the test was shown: neutral, make-tests-pass, follow-description"),
    _column("split", _text, "complete or instruct"),
    _column("task_id", _text, "id of the task in its own dataset"),
    _column("sample_index", _count, "0-based number of the answer to this task"),
    _column("cheated", pa.bool_(), "the answer is a cheat"),
    _column(
        "kind",
        _text,
        "of a cheat: special cases, evades tests, equal to all, other; of an honest answer: follows description, "
        "wrong, no program",
    ),
    _column("evidence", _texts, "what shows it: methods passed, lines and values of the program, what the judge saw"),
    _column("objection", _text, "sentence in which the answer says that a test is wrong; empty where there is none"),
    _column("contradicted_tests", _texts, "test methods that no correct solution passes as they were shown"),
    _column("passed_tests", _texts, "those of them that passed"),
    _column("shown_status", _text, "status of its execution against the test as it was shown; empty: not executed"),
    _column("test_status", _text, "status of its execution against the task's own test; empty: not executed"),
    _column("program", _text, "program that was executed"),
)

AUDIT = _study(
    "finding about a task; a task that could be judged has one more row, of kind counted, with its mutants' counts",
    _column("task_id", _text, "the task that it is about"),
    _column("method", _text, "what found it: mutation, contradiction, models, executions, errata"),
    _column(
        "kind",
        _text,
        "wrong test, too weak, underspecified, flaky, network, environment; undecided: a mutant that may be equal, "
        "or models that may be wrong alike; counted: the task's counts",
    ),
    _column("text", _text, "what is wrong, or not checked, and the evidence"),
    _nullable("line", _count, "1-based line: of the reference program for mutants, of the test for contradictions"),
    _column("operator", _text, "kind of the mutant's change; empty for other findings"),
    _column("before", _text, "source in that line; empty where nothing was changed"),
    _column("after", _text, "source that stands there instead"),
    _column("command", _text, "what shows it again"),
    _nullable("killed", _count, "mutants that the test notices; null in this and the next five but for counted"),
    _nullable("survived", _count, "mutants that it does not notice"),
    _nullable("apart", _count, "mutants of what tests do not observe (logs, looks, seeds); in neither count"),
    _nullable("equivalent", _count, "changes left out, of the same bytecode as the program or another mutant"),
    _nullable("unjudged", _count, "mutants that could not be executed"),
    _nullable("possible", _count, "mutants that the chosen ones were drawn from"),
)

LIBRARY_VERSIONS = pa.struct(
    [
        pa.field("library", _text),  # import name; python: the interpreter
        pa.field("before", _text),  # version in the older environment; empty: it is not there
        pa.field("now", _text),  # version in the newer environment; empty: it is not there
    ]
)

OUTDATED_CALL = pa.struct(
    [
        pa.field("name", _text),  # what the newer libraries do not have, such as numpy.float or read_csv(squeeze=)
        pa.field("library", _text),  # import name
        pa.field("kind", _text),  # module, name or argument
        pa.field("sample_index", _count),  # the failing sample that uses it
        pa.field("evidence", _text),  # last line of the traceback
    ]
)

EVOLUTION = _study(
    "run and task: its samples in an older and a newer environment; the run '' is the tasks' reference solutions",
    _column("run", _text, "title of the recorded run; empty: the reference solution"),
    _column("record", _text, "record of that run; empty: the reference solution"),
    _column("task_id", _text, "the task"),
    _column("environment", _text, "name of the older environment"),
    _column("current", _text, "name of the newer environment"),
    _column("label", _text, "of the task: holds, drifts, dead or unjudgeable, see studies.evolution.causes"),
    _column("cause", _text, "why its reference solution does not hold, such as API removed; empty: it holds"),
    _column("place", _text, "where that shows: setup, test or solution; empty: it holds, or nothing tells"),
    _column("library", _text, "library that is responsible, python for the interpreter; empty: it holds, or unknown"),
    _column("basis", _text, "what the library was read from: message, traceback, line or imports; empty: none"),
    _column("evidence", _text, "last traceback line of the reference solution; empty: it holds"),
    _column("status_before", _text, "status of the reference solution in the older environment"),
    _column("status_now", _text, "status of the reference solution in the newer environment"),
    _column("libraries", pa.list_(LIBRARY_VERSIONS), "python, and libraries that setup, reference or test import"),
    _column("n_samples", _count, "samples executed in each environment"),
    _column("n_passed_before", _count, "those that pass in the older environment"),
    _column("n_passed_now", _count, "those that pass in the newer environment"),
    _column("outdated", pa.list_(OUTDATED_CALL), "what failing samples miss in the newer one, not in the older"),
)

PERTURBATION = _study(
    "kind of change and task with judged samples in both runs",
    _column("model", _text, "model, or control, whose runs are compared"),
    _column("kind", _text, "what the variants change: function, parameters, literals, docstring, data, or several"),
    _column("task_id", _text, "the original task"),
    _column("original_samples", _count, "judged samples of the original task"),
    _column("original_passed", _count, "of these, samples that pass"),
    _column("variants", _count, "variants of that kind with judged samples"),
    _column("perturbed_samples", _count, "judged samples of these variants"),
    _column("perturbed_passed", _count, "of these, samples that pass"),
    _column("original_share", pa.float64(), "share of the original's samples that pass, 0..1"),
    _column("perturbed_share", pa.float64(), "mean over the variants of the share that pass, 0..1"),
    _column("failed_variants", _texts, "ids of variants of which a sample fails, sorted"),
)

CONTAMINATION = _study(
    "task",
    _column("task_id", _text, "the task whose texts were looked for"),
    _column("ngrams", _count, "n-grams of prompts, solution and test, common ones left out"),
    _column("ngram_share", pa.float64(), "share of these that the corpus holds, 0..1; 0 where there are none"),
    _nullable("prompt_share", pa.float64(), "the same of the two prompts; null: they have no such n-gram"),
    _nullable("solution_share", pa.float64(), "the same of the canonical solution"),
    _nullable("test_share", pa.float64(), "the same of the test"),
    _column("longest_match", _count, "words of the longest passage that stands in the corpus too; 0: none of n"),
    _column("longest_part", _text, "column of the task that has it; empty where there is none, as the next five"),
    _column("longest_file", _text, "file of the corpus"),
    _column("longest_record", _text, "line, row or part of the file, 1-based, with the field where it has some"),
    _column("longest_offset", pa.int64(), "0-based character within the record; -1 where there is none"),
    _column("longest_text", _text, "the passage in the corpus"),
    _column("longest_task_text", _text, "the passage in the task"),
    _column("fuzzy_score", pa.float64(), "similarity of a whole text of the task and the best place, in words, 0..1"),
    _column("fuzzy_part", _text, "column of the task that has it; empty where nothing is, as the next five"),
    _column("fuzzy_file", _text, "file of the corpus"),
    _column("fuzzy_record", _text, "as longest_record"),
    _column("fuzzy_offset", pa.int64(), "0-based character within the record; -1 where there is none"),
    _column("fuzzy_text", _text, "that place of the corpus, cut at 2,000 characters"),
    _column("fuzzy_task_text", _text, "the text of the task, cut at 2,000 characters"),
    _column("contaminated", pa.bool_(), "ngram_share or fuzzy_score reaches its threshold"),
)

#: Rounds of a run; one artifact holds one run.
ROUNDS = _study(
    "task, sample_index and round in which the sample was asked for",
    *_SAMPLE,
    _column("round", _count, "from 1; the run's scores are those of round 1"),
    _column("passed", pa.bool_(), "the answer of this round passed; the sample is then asked for no more"),
    _column("status", _text, "as in verdicts, of the calibrated variant where there are two"),
    _column("failure_kind", _text, "as in verdicts; empty for a pass"),
    _column("feedback", _text, "what the model was told before: failed, tests or traceback; empty in round 1"),
    _nullable("prompt_tokens", _count, "tokens sent, the conversation so far included"),
    _nullable("completion_tokens", _count, "tokens received, reasoning included"),
    _nullable("cost_usd", pa.float64(), "price of the answer in US dollars"),
    _nullable("latency_seconds", pa.float64(), "request sent to answer complete"),
)

#: Results of this package's studies, by their folder in a store, which also names their view in the catalog.
STUDIES: Mapping[str, pa.Schema] = {
    "audit": AUDIT,
    "cheating": CHEATING,
    "contamination": CONTAMINATION,
    "evolution": EVOLUTION,
    "perturbation": PERTURBATION,
    "rounds": ROUNDS,
}


def study_schemas() -> dict[str, pa.Schema]:
    """Return the schemas of all installed studies by name."""
    return {**STUDIES, **{name: study.schema for name, study in foreign_studies(("bigcodeflow.",)).items()}}


#: Columns of the hub dataset, all strings there; a user's own task file must have them.
HUB_COLUMNS = tuple(name for name in TASKS.names if name not in {"position", "domains", "hard", "expected_tests"})


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Build a table of the rows; replace lone surrogates, which programs and answers may hold and Arrow refuses."""
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
