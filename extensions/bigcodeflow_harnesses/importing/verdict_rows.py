"""Verdict rows of imported samples, made from recorded outcomes by the code that judges live executions."""

import fnmatch
from collections.abc import Mapping
from typing import Any

from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.core.tracebacks import raised
from bigcodeflow.judge.failure_kinds import setup_names
from bigcodeflow.judge.host.base import Outcome
from bigcodeflow.judge.integrity.checks import UNCHECKED
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict
from bigcodeflow.store import artifact_key
from bigcodeflow_harnesses.importing.reading import Entry

#: Values of an imported verdict's columns 'backend' and 'exit': this project executed nothing.
BACKEND = "imported"
_EXIT = "not executed here: imported"
#: Keys of a sample's 'details' that are no test: 'ALL' is the module, 'TestCases)' a failed setUpClass.
_OF_MODULE = ("ALL", "TestCases)")
#: Columns of times and memory, which a result file does not state: null, as a 0 would enter means like a measurement.
_UNMEASURED = dict.fromkeys(("wall_seconds", "cpu_seconds", "test_cpu_seconds", "max_rss_mib"))

Row = dict[str, Any]


def sample_verdict(entry: Entry, task: Mapping[str, Any], *, variant: str, sanitizer: str = UNKNOWN) -> Row:
    """Make the VERDICTS row of an imported sample; it keeps the file's status, so that scores agree with the file.

    The failure kind follows from the traceback, as in an execution here; 'unknown' if the file gives no reason. If the
    file does not state which tests failed, the row has no tests: tests listed as 'missing' would count as not run.
    """
    owner = {"task_id": entry.task_id, "sample_index": entry.sample_index, "variant": variant, "sanitizer": sanitizer}
    expected = tuple(task["expected_tests"])
    # Other names follow the expected tests, so that no trace is lost: subtests, whose names the original cuts at their
    # last dot, and tests of another dataset version. A pattern, such as test_plus_*, stands for all tests that match.
    groups = tuple(name for name in entry.details if "*" in name and fnmatch.filter(expected, name))
    names = expected + tuple(name for name in entry.details if name not in (*expected, *_OF_MODULE, *groups))
    item = WorkItem(
        # This verdict must never replace that of an execution, so its key is of another kind.
        verdict_key=artifact_key(
            "imported verdict", 1, {"program": entry.program, "test": task["test"], "details": dict(entry.details)}
        ),
        program=entry.program,
        test=task["test"],
        expected_tests=names,
        time_seconds=0.0,
        missing_imports=frozenset(),  # the file does not record missing modules, and it determines the status
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
    why = entry.details.get("ALL", _EXIT) if entry.status == "infra_error" else _EXIT
    stated = {"status": entry.status, "failure_kind": kind, "tests": tests, "exit": why}
    if entry.status == "pass":
        stated["integrity"] = UNCHECKED
    return owner | judged | _UNMEASURED | counts | stated


def ground_truth_verdict(task: Mapping[str, Any], *, passes: bool) -> Row:
    """Make the verdict row of a task's ground truth, of which only pass or fail is known."""
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
    for name in names:  # one frame for each test that is known to have ended
        trace = entry.details.get(name) or entry.details.get(subtests.get(name, ""))
        trace = trace or next((text for group, text in entry.details.items() if fnmatch.fnmatchcase(name, group)), None)
        if trace is not None:
            cause = _cause(trace)
            outcome = "fail" if "AssertionError" in cause["exception"].split() else "error"
            frames.append({"event": "test", "name": name, "outcome": outcome, **cause})
        elif broken is None:
            frames.append({"event": "test", "name": name, "outcome": "pass"})
    return Outcome(frames=[*frames, {"event": "end"}])


def _cause(trace: str) -> dict[str, str]:
    return {"trace": trace, **raised(trace)._asdict()}
