"""Tasks that every recorded run fails in the same test with the same value: the test or the prompt is suspect.

Where the test wants an exception or a call that no text of the task names, the task is underspecified; else it is not
decided whether the models are wrong alike.
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
#: What a test asks for by name: an exception, or a call of a double ('mock' is one without a name).
_WANTED = re.compile(r"AssertionError: (?:(\w+) not raised|Expected '(?!mock')(\w+)' to .*(?:called\.|Called 0 times))")
#: Assertions of a condition, which tell no value.
_NO_VALUE = re.compile(r"AssertionError: (?:np\.)?(?:False_? is not true|True_? is not false)\b")
_LONGEST = 5_000
_COLUMNS = ["task_id", "variant", "status", "tests"]


class Failure(NamedTuple):
    """How a sample failed one test."""

    test: str
    message: str
    """The assertion's class and message, which tells the value."""


def named_runs(store: str, names: Sequence[str]) -> list[RecordedRun]:
    """The recorded runs of these names: none, or at least two.

    Raises:
        ArtifactError: a run is not there.
        ConfigError: it is one run alone.
    """
    runs = list({run.record: run for run in (find_run(store, name) for name in names)}.values())
    if runs and len(runs) < _FEWEST_RUNS:
        raise ConfigError("audit: --run: what one model fails says nothing of the task: name two runs or more")
    return runs


def findings(
    runs: Sequence[RecordedRun], tasks: Sequence[Mapping[str, Any]], command_of: Callable[[str], str]
) -> list[Finding]:
    """Findings of these runs about tasks that they answered with the same test; a task's command names them too."""
    named = "".join(f" --run {shlex.quote(run.record)}" for run in runs)
    failures = shared_failures([_verdicts(run, tasks) for run in runs]) if runs else {}
    texts = {task["task_id"]: f"{task['complete_prompt']}\n{task['instruct_prompt']}" for task in tasks}
    return [
        _finding(task_id, shared, texts[task_id], len(runs), command_of(task_id) + named)
        for task_id, shared in failures.items()
    ]


def shared_failures(runs: Sequence[Iterable[Mapping[str, Any]]]) -> dict[str, list[Failure]]:
    """By task id the failures that all samples of all runs share; each run gives rows of VERDICTS.

    A task counts where every run judged it, no sample passed, and each failed by its tests.
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
    # Other exceptions are mistakes that several models make alike; only an assertion tells which value they gave.
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
    """The exception or call that a test asks for and no text names as a word, in any case; else empty."""
    match = _WANTED.match(message)
    name = (match[1] or match[2]) if match else ""
    return name if name and not re.search(rf"\b{name}\b", texts, re.IGNORECASE) else ""


def _verdicts(run: RecordedRun, tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Those about tasks that the run had with the same test."""
    tests = {(task["task_id"], task["test"]) for task in tasks}
    asked = read_artifact(run.path("dataset"), ["task_id", "test"]).to_pylist()
    alike = {row["task_id"] for row in asked if (row["task_id"], row["test"]) in tests}
    return [row for row in read_artifact(run.path("execution"), _COLUMNS).to_pylist() if row["task_id"] in alike]
