"""Tasks that every recorded run fails in the same test with the same value: the test or the prompt is suspect.

If the test expects an exception or a call that no text of the task names, the task is underspecified. Otherwise it is
undecided, since all models may make the same mistake.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.tracebacks import exception_line
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow.studies.audit.findings import MODELS, UNDECIDED, UNDERSPECIFIED, Finding

_FEWEST_RUNS = 2
_SUSPICION = "the prompt may not say it, the test may be wrong, or the models are wrong alike"
#: Exception, or call of a mock, that a test expects by name ('mock' is a mock without a name).
_WANTED = re.compile(r"AssertionError: (?:(\w+) not raised|Expected '(?!mock')(\w+)' to .*(?:called\.|Called 0 times))")
#: Messages of assertions about a condition, which show no value.
_NO_VALUE = re.compile(r"AssertionError: (?:np\.)?(?:False_? is not true|True_? is not false)\b")
_LONGEST = 5_000
_COLUMNS = ["task_id", "variant", "status", "tests"]


class Failure(NamedTuple):
    """Failure of a sample in one test."""

    test: str
    message: str
    """Class and message of the assertion; the message shows the value."""


def named_runs(store: str, names: Sequence[str]) -> list[RecordedRun]:
    """Return the recorded runs with these names: none, or at least two.

    Raises:
        ArtifactError: a run does not exist.
        ConfigError: all names mean the same single run.
    """
    runs = list({run.record: run for run in (find_run(store, name) for name in names)}.values())
    if runs and len(runs) < _FEWEST_RUNS:
        raise ConfigError("audit: --run: what one model fails says nothing of the task: name two runs or more")
    return runs


def findings(
    runs: Sequence[RecordedRun], tasks: Sequence[Mapping[str, Any]], command_of: Callable[[str], str]
) -> list[Finding]:
    """Return a finding for each task whose present test all runs fail alike; its command names the runs too."""
    named = "".join(f" --run {shlex.quote(run.record)}" for run in runs)
    failures = shared_failures([_verdicts(run, tasks) for run in runs]) if runs else {}
    texts = {task["task_id"]: f"{task['complete_prompt']}\n{task['instruct_prompt']}" for task in tasks}
    return [
        _finding(task_id, shared, texts[task_id], len(runs), command_of(task_id) + named)
        for task_id, shared in failures.items()
    ]


def shared_failures(runs: Sequence[Iterable[Mapping[str, Any]]]) -> dict[str, list[Failure]]:
    """Return by task id the failures that all samples of all runs share; each run gives rows of VERDICTS.

    A task counts if every run judged it, no sample passed, and each sample failed in its tests.
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
    told = (Failure(test["name"], _message(test["trace"])) for test in failing)
    # Other exceptions are mistakes that several models may make; only an assertion shows the value that they gave.
    return {one for one in told if one.message.startswith("AssertionError: ") and not _NO_VALUE.match(one.message)}


def _message(trace: str) -> str:
    line = exception_line(trace)
    return trace[trace.rindex(line) :].strip()[:_LONGEST] if line else ""


def _finding(task_id: str, shared: Sequence[Failure], texts: str, n_runs: int, command: str) -> Finding:
    unnamed = next(((one, name) for one in shared if (name := _unnamed(one.message, texts))), None)
    first, name = unnamed or (shared[0], "")
    more = f", and {len(shared) - 1} more tests alike" if len(shared) > 1 else ""
    message = " ".join(first.message.split())[:300]
    conclusion = f"no text of the task names {name}" if name else _SUSPICION
    text = f"all samples of {n_runs} runs fail {first.test} alike{more}: {message}; {conclusion}"
    return Finding(task_id, MODELS, UNDERSPECIFIED if name else UNDECIDED, text, command=command)


def _unnamed(message: str, texts: str) -> str:
    """Return the exception or call that a test expects if no text has it as a word, in any case; else ""."""
    match = _WANTED.match(message)
    name = (match[1] or match[2]) if match else ""
    return name if name and not re.search(rf"\b{name}\b", texts, re.IGNORECASE) else ""


def _verdicts(run: RecordedRun, tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the run's verdicts for the tasks that it answered with the same test."""
    tests = {(task["task_id"], task["test"]) for task in tasks}
    asked = read_artifact(run.path("dataset"), ["task_id", "test"]).to_pylist()
    alike = {row["task_id"] for row in asked if (row["task_id"], row["test"]) in tests}
    return [row for row in read_artifact(run.path("execution"), _COLUMNS).to_pylist() if row["task_id"] in alike]
