"""Tasks that every recorded run fails in the same test with the same value: the test or the prompt is suspect."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.tracebacks import exception_line
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow.studies.audit.findings import MODELS, UNDERSPECIFIED, Finding

_FEWEST_RUNS = 2
_SUSPICION = "the prompt may not say it, or the test may be wrong"
_COLUMNS = ["task_id", "variant", "status", "tests"]


class Failure(NamedTuple):
    """How a sample failed one test."""

    test: str
    message: str
    """First line of the assertion's message, which tells the value."""


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


def findings(runs: Sequence[RecordedRun], command_of: Callable[[str], str]) -> list[Finding]:
    """Findings of these runs; a task's command names them too."""
    named = "".join(f" --run {shlex.quote(run.record)}" for run in runs)
    failures = shared_failures([_verdicts(run) for run in runs]) if runs else {}
    return [_finding(task_id, shared, len(runs), command_of(task_id) + named) for task_id, shared in failures.items()]


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
    told = (Failure(test["name"], exception_line(test["trace"])) for test in failing)
    # Other exceptions are mistakes that several models make alike; only an assertion tells which value they gave.
    return {one for one in told if one.message.startswith("AssertionError: ")}


def _finding(task_id: str, shared: Sequence[Failure], n_runs: int, command: str) -> Finding:
    first = shared[0]
    more = f", and {len(shared) - 1} more tests alike" if len(shared) > 1 else ""
    text = f"all samples of {n_runs} models fail {first.test} alike{more}: {first.message[:300]}; {_SUSPICION}"
    return Finding(task_id, MODELS, UNDERSPECIFIED, text, command=command)


def _verdicts(run: RecordedRun) -> list[dict[str, Any]]:
    path = run.path("execution")
    try:
        return pq.read_table(path, columns=_COLUMNS).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ArtifactError(f"{path}: cannot be read ({error}): run it again") from None
