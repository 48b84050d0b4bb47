"""Read the shipped errata of BigCodeBench's tasks, each with a command that shows it, and corrections of some.

An erratum applies only to the exact text that was examined: a task with the same id but another prompt, solution or
test, such as one of a later version, has none.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import yaml

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.paths import shipped

_ERRATA, _CORRECTIONS = "data/bigcodebench/errata.yaml", "data/bigcodebench/verified_tasks.jsonl"
_TEXTS = ("complete_prompt", "canonical_solution", "test")

Kind = Literal["wrong test", "too weak", "underspecified", "flaky", "network", "environment"]
Effect = Literal["keep", "correct", "leave out"]


class Erratum(NamedTuple):
    """A known error of one task."""

    task: str
    kind: Kind
    text: str
    evidence: str
    """Command that shows the error."""
    task_sha256: str
    """Identity of the texts that were examined, see `task_sha256`."""
    verified: Effect
    """Effect on the task in the verified view: keep it, replace it by its correction, or leave it out, since no verdict
    about it would mean anything."""
    source: str = ""
    """Place where it was reported or fixed, if known."""


def task_sha256(task: Mapping[str, Any]) -> str:
    """Return the identity of a task's prompt, solution and test."""
    text = "\0".join(str(task[name]) for name in _TEXTS)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def errata() -> tuple[Erratum, ...]:
    """Read all known errata, in the order of the file."""
    path = shipped(_ERRATA)
    try:
        return tuple(Erratum(**row) for row in yaml.safe_load(path.read_text(encoding="utf-8")))
    except (TypeError, yaml.YAMLError) as error:
        raise ArtifactError(f"{path}: is not a valid list of errata ({error}): reinstall bigcodeflow") from None


def errata_of(task: Mapping[str, Any]) -> list[Erratum]:
    """Return the errata of a task; empty if its texts are not exactly those that were examined."""
    mine = [one for one in errata() if one.task == task["task_id"]]
    identity = task_sha256(task) if mine else ""
    return [one for one in mine if one.task_sha256 == identity]


@cache
def corrections() -> Mapping[str, Mapping[str, Any]]:
    """Read the corrections (id and changed fields of the task), by the sha256 of the task's original texts."""
    lines = shipped(_CORRECTIONS).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return MappingProxyType({row.pop("task_sha256"): MappingProxyType(row) for row in rows})


@cache
def facts_sha256() -> str:
    """Return the sha256 of both files, errata and corrections, for the keys of artifacts that depend on them."""
    content = b"\0".join(shipped(name).read_bytes() for name in (_ERRATA, _CORRECTIONS))
    return hashlib.sha256(content).hexdigest()


def correction_of(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields that have another value in the verified view; empty for most tasks."""
    wanted = any(one.verified == "correct" for one in errata_of(task))
    return corrections()[task_sha256(task)] if wanted else {}


def is_left_out(task: Mapping[str, Any]) -> bool:
    """Tell if the verified view leaves the task out."""
    return any(one.verified == "leave out" for one in errata_of(task))


def is_judged_alike(task: Mapping[str, Any]) -> bool:
    """Tell if a verdict also holds in the verified view, because the view keeps the task, prompts and test."""
    return not is_left_out(task) and set(correction_of(task)) <= {"task_id", "canonical_solution", "doc_struct"}
