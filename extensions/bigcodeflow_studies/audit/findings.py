"""Findings of the audit: defects of tasks, with the command that reproduces each; ``study`` adds those of mutants.

If every recorded run fails a test with the same value, the test or the prompt may be wrong. The task is underspecified
if the test expects an exception or a call that neither prompt names. Otherwise the finding is undecided, since all
models may make the same mistake.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.core.errata import errata_of
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.tracebacks import exception_line
from bigcodeflow.execution import evaluation
from bigcodeflow.execution.costs import sha256_of_test
from bigcodeflow.execution.environment_check import unjudgeable_tasks
from bigcodeflow.execution.quarantine import quarantined, read_quarantine
from bigcodeflow.judge.integrity.checks import undetected
from bigcodeflow.judge.integrity.operands import evaluated_text
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow.studies.records import rows_on_tasks

#: Kinds of findings. Undecided: a surviving mutant may be an equivalent program,
#: and models that fail alike may make the same mistake.
WRONG_TEST, TOO_WEAK, UNDERSPECIFIED, FLAKY, NETWORK, ENVIRONMENT, UNDECIDED = (
    "wrong test", "too weak", "underspecified", "flaky", "network", "environment", "undecided",
)  # fmt: skip
#: Kind of the row that holds the mutant counts of a task.
COUNTED = "counted"
MUTATION, CONTRADICTION, MODELS, EXECUTIONS, ERRATA = "mutation", "contradiction", "models", "executions", "errata"
_FEWEST_RUNS = 2
_SUSPICION = "the prompt may not say it, the test may be wrong, or the models are wrong alike"
#: Exception, or call of a mock, that a test expects by name ('mock' is a mock without a name).
_WANTED = re.compile(r"AssertionError: (?:(\w+) not raised|Expected '(?!mock')(\w+)' to .*(?:called\.|Called 0 times))")
#: Messages of assertions about a condition, which show no value.
_NO_VALUE = re.compile(r"AssertionError: (?:np\.)?(?:False_? is not true|True_? is not false)\b")
_LONGEST = 5_000
_COLUMNS = ["task_id", "variant", "status", "tests"]


class Finding(NamedTuple):
    """Finding of the audit, as a row of its result table; the fields are the columns of ``AUDIT``."""

    task_id: str
    method: str
    kind: str
    text: str
    line: int | None = None
    operator: str = ""
    before: str = ""
    after: str = ""
    command: str = ""
    killed: int | None = None
    """Number of mutants that fail the test. All counts are None, except in rows of kind COUNTED."""
    survived: int | None = None
    apart: int | None = None
    """Number of mutants in code that tests need not observe, with any outcome."""
    equivalent: int | None = None
    unjudged: int | None = None
    possible: int | None = None


def contradiction_findings(
    tasks: pa.Table, truths: pa.Table, run: ResolvedRun, listener: Listener, command: Callable[[str], str]
) -> list[Finding]:
    """Return a finding for each test line at which a changed expected value does not fail the reference solution."""
    with evaluation.contradicting(
        tasks,
        truths,
        config=run.config.execution,
        environment=run.contents["environment"].value,
        store=run.store,
        progress=listener.begin("contradictions"),
    ) as given:
        rows = undetected(*given)
    found = dict[tuple[str, str, int], Finding]()
    for task_id, one in sorted(rows, key=lambda row: (row[0], row[1]["line"], row[1]["after"])):
        test, line, before, after = (one[name] for name in ("test", "line", "before", "after"))
        # Keep literals only: an altered expression may have the same value, as a frame of one row in reverse order.
        if evaluated_text(before) is not None and evaluated_text(after) is not None:
            text = f"the reference does not fail {test} although line {line} of the test is contradicted"
            finding = Finding(task_id, CONTRADICTION, TOO_WEAK, text, line, "", before, after, command(task_id))
            found.setdefault((task_id, test, line), finding)
    return list(found.values())


def execution_findings(
    tasks: Sequence[Mapping[str, Any]],
    truths: pa.Table,
    run: ResolvedRun,
    command: Callable[[str], str],
) -> list[Finding]:
    """Return a finding for each task whose ground truth fails, or is flaky according to ``env check --repeat``."""
    found = {}
    for one in unjudgeable_tasks(truths):
        kind = NETWORK if one.reason == "network" else ENVIRONMENT
        text = f"the reference does not pass here ({one.status}; needs {one.reason}): {one.evidence}"
        found[one.task_id] = Finding(one.task_id, EXECUTIONS, kind, text, command=command(one.task_id))
    known = {(task["task_id"], sha256_of_test(dict(task))) for task in tasks}
    for row in quarantined(read_quarantine(run.store, run.contents["environment"].value.environment_sha)):
        text = f"the reference passed {row['passes']:,} of {row['executions']:,} executions: {row['evidence']}"
        if row["passes"] and (row["task_id"], row["test_sha256"]) in known:
            found[row["task_id"]] = Finding(row["task_id"], EXECUTIONS, FLAKY, text, command=command(row["task_id"]))
    return list(found.values())


def errata_findings(tasks: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Return a finding for each known erratum of the tasks; skip errata of a different version of a task's text."""
    return [
        Finding(task["task_id"], ERRATA, one.kind, one.text, command=one.evidence)
        for task in tasks
        for one in errata_of(task)
    ]


#: Failing test of a sample, and class and message of the assertion, which shows the value.
Failure = tuple[str, str]


def named_runs(store: str, names: Sequence[str]) -> list[RecordedRun]:
    """Return the recorded runs with these names, without duplicates; an empty list if no name is given.

    Raises:
        ArtifactError: a run does not exist.
        ConfigError: all names mean the same run, but at least two runs are needed.
    """
    runs = list({run.record: run for run in (find_run(store, name) for name in names)}.values())
    if runs and len(runs) < _FEWEST_RUNS:
        raise ConfigError("audit: --run needs two runs or more, as a single model's failures prove nothing: add a run")
    return runs


def dispute_findings(
    runs: Sequence[RecordedRun], tasks: Sequence[Mapping[str, Any]], command_of: Callable[[str], str]
) -> list[Finding]:
    """Return a finding for each task on which all samples of all runs fail the same test with the same message.

    Tasks whose test text in the runs differs from the text in ``tasks`` are skipped.
    """
    named = "".join(f" --run {shlex.quote(run.record)}" for run in runs)
    tests = {task["task_id"]: task["test"] for task in tasks}
    failures = shared_failures([rows_on_tasks(run, tests, "execution", _COLUMNS) for run in runs]) if runs else {}
    texts = {task["task_id"]: f"{task['complete_prompt']}\n{task['instruct_prompt']}" for task in tasks}
    return [
        _finding(task_id, shared, texts[task_id], len(runs), command_of(task_id) + named)
        for task_id, shared in failures.items()
    ]


def shared_failures(runs: Sequence[Iterable[Mapping[str, Any]]]) -> dict[str, list[Failure]]:
    """Return, by task id, the failing tests with their messages that all samples of all runs share.

    Each item of ``runs`` has the VERDICTS of a run. Only tasks that all runs judged and all samples failed count.
    """
    by_task: dict[str, list[tuple[int, set[Failure]]]] = {}
    for number, rows in enumerate(runs):
        for row in rows:
            if row["variant"] == "calibrated":
                by_task.setdefault(row["task_id"], []).append((number, _failures(row)))
    found = {}
    for task_id, samples in by_task.items():
        shared = set.intersection(*(failures for _, failures in samples))
        if shared and len({number for number, _ in samples}) == len(runs):
            found[task_id] = sorted(shared)
    return found


def _failures(row: Mapping[str, Any]) -> set[Failure]:
    if row["status"] != "fail":
        return set()
    failing = [test for test in row["tests"] if test["outcome"] in ("fail", "error")]
    told = ((test["name"], _message(test["trace"])) for test in failing)
    # Other exceptions are mistakes that several models may make; only an assertion shows the value that they gave.
    return {one for one in told if one[1].startswith("AssertionError: ") and not _NO_VALUE.match(one[1])}


def _message(trace: str) -> str:
    line = exception_line(trace)
    return trace[trace.rindex(line) :].strip()[:_LONGEST] if line else ""


def _finding(task_id: str, shared: Sequence[Failure], texts: str, n_runs: int, command: str) -> Finding:
    unnamed = ((*failure, name) for failure in shared if (name := _unnamed(failure[1], texts)))
    test, message, name = next(unnamed, (*shared[0], ""))
    more = f", and {len(shared) - 1} more tests alike" if len(shared) > 1 else ""
    message = " ".join(message.split())[:300]
    conclusion = f"no text of the task names {name}" if name else _SUSPICION
    text = f"all samples of {n_runs} runs fail {test} alike{more}: {message}; {conclusion}"
    return Finding(task_id, MODELS, UNDERSPECIFIED if name else UNDECIDED, text, command=command)


def _unnamed(message: str, texts: str) -> str:
    """Return the exception or call that ``message`` reports as missing; "" if a prompt in ``texts`` names it."""
    match = _WANTED.match(message)
    name = (match[1] or match[2]) if match else ""
    return name if name and not re.search(rf"\b{name}\b", texts, re.IGNORECASE) else ""
