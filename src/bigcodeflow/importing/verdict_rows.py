"""Verdicts of imported samples: the recorded outcome is put before the judge that judges live executions."""

from collections.abc import Mapping
from typing import Any

from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.core.tracebacks import raised
from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.failure_kinds import setup_names
from bigcodeflow.execution.integrity.checks import UNCHECKED
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import verdict
from bigcodeflow.importing.reading import Entry
from bigcodeflow.store import artifact_key

#: What the columns of an imported verdict say where this project executed nothing.
BACKEND = "imported"
_EXIT = "not executed here: imported"
#: What a detail is about that is about no test; a failed setUpClass is called 'TestCases)'.
_OF_MODULE = ("ALL", "TestCases)")
#: A file states neither times nor memory; a 0 would enter means as if it had been measured.
_UNMEASURED = dict.fromkeys(("wall_seconds", "cpu_seconds", "test_cpu_seconds", "max_rss_mib"))

Row = dict[str, Any]


def sample_verdict(entry: Entry, task: Mapping[str, Any], *, variant: str, sanitizer: str = UNKNOWN) -> Row:
    """A row of the VERDICTS schema, with the file's own status: another one would change the score.

    The failure kind is what a live execution with that trace gets, and unknown where the file gives no reason. Where it
    does not tell which tests failed, the row has none: 'missing' ones would read as if none of them had passed.
    """
    owner = {"task_id": entry.task_id, "sample_index": entry.sample_index, "variant": variant, "sanitizer": sanitizer}
    expected = tuple(task["expected_tests"])
    # Names that are no expected test stand behind these, so that no trace is lost: subtests, whose names the original
    # cuts at their last dot, and tests of another dataset version.
    names = expected + tuple(name for name in entry.details if name not in (*expected, *_OF_MODULE))
    item = WorkItem(
        # No execution may ever be spared on account of this verdict, so its key is of another kind than an execution's.
        verdict_key=artifact_key(
            "imported verdict", 1, {"program": entry.program, "test": task["test"], "details": dict(entry.details)}
        ),
        program=entry.program,
        test=task["test"],
        expected_tests=names,
        time_seconds=0.0,
        missing_imports=frozenset(),  # what the environment lacked is not recorded, and the status is the file's
        setup_names=setup_names(task["code_prompt"]),
    )
    judged = verdict(item, _outcome(entry, names), backend=BACKEND, environment_sha=UNKNOWN)
    kind = {"pass": "", "infra_error": "infrastructure"}.get(entry.status, judged["failure_kind"])
    if entry.status == "fail" and not any(entry.details.values()):
        kind = "unknown"
    known = entry.status == "pass" or (entry.status == "fail" and bool(entry.details))
    tests = [test | {"seconds": None} for test in judged["tests"]] if known else []
    run = sum(test["outcome"] != "missing" for test in tests[: len(expected)])
    counts = {"tests_expected": len(expected), "tests_run": run if known else None}
    stated = {"status": entry.status, "failure_kind": kind, "tests": tests, "exit": _EXIT}
    if entry.status == "pass":
        stated["integrity"] = UNCHECKED
    return owner | judged | _UNMEASURED | counts | stated


def ground_truth_verdict(task: Mapping[str, Any], *, passes: bool) -> Row:
    """The row of a task whose ground truth is only known to pass or not."""
    program = task["complete_prompt"] + task["canonical_solution"]
    entry = Entry(task["task_id"], 0, program, "pass" if passes else "fail", {})
    return sample_verdict(entry, task, variant="calibrated", sanitizer="none")


def _outcome(entry: Entry, names: tuple[str, ...]) -> Outcome:
    if entry.status == "timeout":
        return Outcome(killed_for="wall time")
    if entry.status == "infra_error":
        return Outcome(exit=_EXIT)
    frames: list[Row] = [{"event": "started"}, {"event": "imported"}, {"event": "loaded", "tests": list(names)}]
    if entry.status == "fail" and not entry.details:
        return Outcome(frames=frames, exit=_EXIT)
    broken = next((name for name in entry.details if name in _OF_MODULE), None)
    if broken is not None:
        event = "module_failed" if broken == "ALL" else "class_failed"
        frames.append({"event": event, "phase": "import", **_cause(entry.details[broken])})
    if broken == "ALL":
        return Outcome(frames=frames)
    subtests = {name.partition(" (")[0]: name for name in reversed(list(entry.details)) if " (" in name}
    for name in names:  # one frame a test that is known to have ended
        trace = entry.details.get(name) or entry.details.get(subtests.get(name, ""))
        if trace is not None:
            cause = _cause(trace)
            outcome = "fail" if "AssertionError" in cause["exception"].split() else "error"
            frames.append({"event": "test", "name": name, "outcome": outcome, **cause})
        elif broken is None:
            frames.append({"event": "test", "name": name, "outcome": "pass"})
    return Outcome(frames=[*frames, {"event": "end"}])


def _cause(trace: str) -> dict[str, str]:
    return {"trace": trace, **raised(trace)._asdict()}
