"""Verdicts of imported samples: the recorded outcome is put before the judge that judges live executions."""

from collections.abc import Iterator, Mapping
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
#: A file tells neither times nor memory; a 0 would enter means as if it had been measured.
_UNMEASURED = dict.fromkeys(("wall_seconds", "cpu_seconds", "test_cpu_seconds", "max_rss_mib"))

Row = dict[str, Any]


def sample_verdict(entry: Entry, task: Mapping[str, Any], *, variant: str, sanitizer: str = UNKNOWN) -> Row:
    """A row of the VERDICTS schema.

    The status is the file's own, whatever the trace suggests: another one would change the score. The failure kind is
    what a live execution with that trace gets, and unknown where the file gives no reason. Where it does not tell which
    tests failed, there are no tests in the row: 'missing' ones would read as if none of them had passed.
    """
    owner = {"task_id": entry.task_id, "sample_index": entry.sample_index, "variant": variant, "sanitizer": sanitizer}
    item, outcome = _item(entry.program, task, entry.details), _outcome(entry, task)
    judged = verdict(item, outcome, backend=BACKEND, environment_sha=UNKNOWN)
    kind = {"pass": "", "infra_error": "infrastructure"}.get(entry.status, judged["failure_kind"])
    if entry.status == "fail" and not any(entry.details.values()):
        kind = "unknown"
    tests_told = entry.status == "pass" or (entry.status == "fail" and bool(entry.details))
    tests = [test | {"seconds": None} for test in judged["tests"]] if tests_told else []
    expected = tests[: len(task["expected_tests"])]
    counts = {
        "tests_expected": len(task["expected_tests"]),
        "tests_run": sum(test["outcome"] != "missing" for test in expected) if tests_told else None,
    }
    told = {"status": entry.status, "failure_kind": kind, "tests": tests, "exit": _EXIT}
    if entry.status == "pass":
        told["integrity"] = UNCHECKED
    return owner | judged | _UNMEASURED | counts | told


def ground_truth_verdict(task: Mapping[str, Any], *, passes: bool) -> Row:
    """The row of a task whose ground truth is only known to pass or not."""
    program = task["complete_prompt"] + task["canonical_solution"]
    told = Entry(task["task_id"], 0, program, "pass" if passes else "fail", {})
    return sample_verdict(told, task, variant="calibrated", sanitizer="none")


def _item(program: str, task: Mapping[str, Any], details: Mapping[str, str]) -> WorkItem:
    # No execution may ever be spared on account of this verdict, so its key is of another kind than an execution's.
    key = artifact_key("imported verdict", 1, {"program": program, "test": task["test"], "details": dict(details)})
    expected = tuple(task["expected_tests"])
    return WorkItem(
        verdict_key=key,
        program=program,
        test=task["test"],
        expected_tests=expected + tuple(_further(details, expected)),
        time_seconds=0.0,
        missing_imports=frozenset(),  # what the environment lacked is not recorded, and the status is the file's
        setup_names=setup_names(task["code_prompt"]),
    )


def _further(details: Mapping[str, str], expected: tuple[str, ...]) -> Iterator[str]:
    """Names in the file that are no expected test, to stand behind the expected ones so that no trace is lost.

    They are subtests, whose names the original cuts at their last dot, and tests of another dataset version.
    """
    for name in details:
        if name not in expected and not _of_module(name):
            yield name


def _of_module(name: str) -> bool:
    """Whether a detail is about the module or the class as a whole; a failed setUpClass is called 'TestCases)'."""
    return name in ("ALL", "TestCases)")


def _outcome(entry: Entry, task: Mapping[str, Any]) -> Outcome:
    if entry.status == "timeout":
        return Outcome(killed_for="wall time")
    if entry.status == "infra_error":
        return Outcome(exit=_EXIT)
    expected = tuple(task["expected_tests"])
    names = (*expected, *_further(entry.details, expected))
    begun: list[Row] = [{"event": "started"}, {"event": "imported"}, {"event": "loaded", "tests": list(names)}]
    broken = next((name for name in entry.details if _of_module(name)), None)
    if broken is not None:
        event = "module_failed" if broken == "ALL" else "class_failed"
        frames = [*begun, {"event": event, "phase": "import", **_cause(entry.details[broken])}]
        return Outcome(frames=frames if broken == "ALL" else [*frames, *_tests(entry, names), {"event": "end"}])
    if entry.status == "fail" and not entry.details:
        return Outcome(frames=begun, exit=_EXIT)
    return Outcome(frames=[*begun, *_tests(entry, names), {"event": "end"}])


def _tests(entry: Entry, names: tuple[str, ...]) -> Iterator[Row]:
    """One frame a test that is known to have ended."""
    class_failed = any(_of_module(name) for name in entry.details)
    subtests = {name.partition(" (")[0]: name for name in reversed(list(entry.details)) if " (" in name}
    for name in names:
        trace = entry.details.get(name) or entry.details.get(subtests.get(name, ""))
        if trace is not None:
            cause = _cause(trace)
            outcome = "fail" if "AssertionError" in cause["exception"].split() else "error"
            yield {"event": "test", "name": name, "outcome": outcome, **cause}
        elif not class_failed:
            yield {"event": "test", "name": name, "outcome": "pass"}


def _cause(trace: str) -> dict[str, str]:
    return {"trace": trace, **raised(trace)._asdict()}
