"""Answers that need no model: programs that must pass every test, and programs that must pass none."""

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import pyarrow as pa
import yaml

from bigcodeflow.core.calibration import stub_program
from bigcodeflow.core.schemas import SAMPLES, table_of

CHEATS: Mapping[str, str] = yaml.safe_load(files(__package__).joinpath("cheats.yaml").read_text(encoding="utf-8"))
"""Programs by the name of the attack; ENTRY_POINT in a program is replaced by the name of the task's function."""


def cheat_name(task: Mapping[str, Any]) -> str:
    """Return the name of the attack for a task: the task's position modulo the number of attacks selects it."""
    names = list(CHEATS)
    return names[int(task["position"]) % len(names)]


def cheat(task: Mapping[str, Any]) -> str:
    """Return a program that does not solve the task, but would pass in an evaluator that trusts the program."""
    return CHEATS[cheat_name(task)].replace("ENTRY_POINT", str(task["entry_point"]))


def oracle(task: Mapping[str, Any]) -> str:
    """Return complete_prompt and canonical_solution joined to a program, which must pass the task's test."""
    return f"{task['complete_prompt']}{task['canonical_solution']}"


def stub(task: Mapping[str, Any]) -> str:
    """Return the task's signature with an empty body, which every useful test must reject."""
    return stub_program(task["code_prompt"])


#: Functions that return the program, by the name in ``samples.source``.
CONTROLS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {"oracle": oracle, "stub": stub, "cheat": cheat}


def control_samples(name: str, tasks: pa.Table) -> pa.Table:
    """Return a SAMPLES table with the answer of control ``name`` (such as 'oracle') to each of ``tasks``, in order."""
    rows = []
    for task in tasks.to_pylist():
        program = CONTROLS[name](task)
        sample = {"task_id": task["task_id"], "sample_index": 0, "provider": name, "attempts": 1}
        rows.append({**sample, "raw_text": program, "given_solution": program})
    return table_of(rows, schema=SAMPLES)
