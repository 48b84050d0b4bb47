"""Offences: outcomes of altered test methods that a program gives and that no correct solution gives."""

from collections.abc import Mapping, Sequence
from typing import Any

from bigcodeflow.judge.host.base import READ_FROM_DISK
from bigcodeflow.judge.integrity.contradictions import Row, holds

#: Part of a trace that shows that arguments or a result could not be sent between program and test.
_UNTRANSFERABLE = "separate.UntransferableError"


def offences(alterations: Sequence[Mapping[str, Any]], verdict: Row) -> list[Mapping[str, Any]]:
    """Return the alterations whose test methods had an outcome that no correct solution gives, as rows of ALTERATION.

    If a limit ended the execution, a row of kind 'end' is added; if the program kept reading files, it is the only row.
    """
    if verdict["exit"].startswith(READ_FROM_DISK):
        return [_end_of(verdict)]
    if verdict["status"] == "infra_error":
        return []
    tests: Mapping[str, Row] = {test["name"]: test for test in verdict["tests"]}
    trace = verdict["module_trace"]  # also the trace of a fixture of the class
    is_cut = verdict["exit"] == "killed: tests"  # by this product, because enough was seen
    is_ended = verdict["exit"].startswith("killed") and not is_cut
    found: list[Mapping[str, Any]] = []
    for one in alterations:
        test = tests[one["test"]]
        is_missing = test["outcome"] == "missing"
        if ((is_cut or is_ended) and is_missing) or holds(one, tests):
            continue
        if one["kind"] == "separate":
            # Undecided if a call could not be transferred.
            untransferable = is_missing and verdict["exit"] == "exit 0" and (not trace or _UNTRANSFERABLE in trace)
            if untransferable:
                continue
        found.append(one)
    if is_ended:
        found.append(_end_of(verdict))
    return found


def _end_of(verdict: Row) -> Mapping[str, Any]:
    return {"test": "", "line": 0, "kind": "end", "before": verdict["exit"], "after": ""}


def in_words(one: Mapping[str, Any]) -> str:
    place = f"{one['test']}, line {one['line']} of the test"
    return {
        "contradiction": f"{place}: no failure with {one['after']} in place of {one['before']}",
        "restatement": f"{place}: fails with {one['after']} in place of {one['before']}, which means the same",
        "separate": f"{one['test']}: fails where program and test have a process each",
        "end": f"{one['before']} with altered tests, and not with the task's own",
    }[one["kind"]]
