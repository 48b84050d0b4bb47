"""Read the shipped errata, which are known errors of BigCodeBench's tasks, and the corrections of some tasks.

An erratum applies only to the exact text that was examined: a task with the same id but another prompt, solution or
test, as in a later version of the dataset, has no erratum.
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
    """Sha256 of the task's texts that were examined, see the function `task_sha256`."""
    verified: Effect
    """Effect on the task in the verified view: keep the task, replace it by its correction, or leave it out because
    its verdicts mean nothing."""
    source: str = ""
    """Place where the error was reported or fixed; empty if unknown."""


def task_sha256(task: Mapping[str, Any]) -> str:
    """Return the sha256 that identifies a task's prompt, solution and test."""
    text = "\0".join(str(task[name]) for name in _TEXTS)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def errata() -> tuple[Erratum, ...]:
    """Read all known errata, in the order of the file."""
    path = shipped(_ERRATA)
    try:
        return tuple(Erratum(**row) for row in yaml.safe_load(path.read_text(encoding="utf-8")))
    except (TypeError, yaml.YAMLError) as error:
        raise ArtifactError(f"{path} is not a valid list of errata ({error}): reinstall bigcodeflow") from None


def errata_of(task: Mapping[str, Any]) -> list[Erratum]:
    """Return the errata of a task; empty if its prompt, solution or test differs from the examined version."""
    mine = [one for one in errata() if one.task == task["task_id"]]
    identity = task_sha256(task) if mine else ""
    return [one for one in mine if one.task_sha256 == identity]


@cache
def corrections() -> Mapping[str, Mapping[str, Any]]:
    """Read the corrections: a mapping from the sha256 of a task's original texts to its id and changed fields."""
    lines = shipped(_CORRECTIONS).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return MappingProxyType({row.pop("task_sha256"): MappingProxyType(row) for row in rows})


@cache
def facts_sha256() -> str:
    """Return a sha256 of the files of errata and corrections; the keys of artifacts that depend on both include it."""
    content = b"\0".join(shipped(name).read_bytes() for name in (_ERRATA, _CORRECTIONS))
    return hashlib.sha256(content).hexdigest()


def correction_of(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a task's correction for the verified view: its id and the changed fields; empty if there is none."""
    wanted = any(one.verified == "correct" for one in errata_of(task))
    return corrections()[task_sha256(task)] if wanted else {}


def is_left_out(task: Mapping[str, Any]) -> bool:
    """Tell if the verified view leaves the task out."""
    return any(one.verified == "leave out" for one in errata_of(task))


def is_judged_alike(task: Mapping[str, Any]) -> bool:
    """Tell if the verified view keeps the task with unchanged prompts and test, so that verdicts hold in both views."""
    return not is_left_out(task) and set(correction_of(task)) <= {"task_id", "canonical_solution", "doc_struct"}
