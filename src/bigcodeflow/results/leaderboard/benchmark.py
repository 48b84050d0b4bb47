"""The tasks that a score of BigCodeBench is over."""

import csv
import functools
import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType

from bigcodeflow.config import Split, Subset
from bigcodeflow.core.paths import shipped

#: In the order of outputs.
BOARDS: tuple[tuple[Subset, Split], ...] = (
    ("full", "complete"),
    ("full", "instruct"),
    ("hard", "complete"),
    ("hard", "instruct"),
)
N_TASKS: Mapping[Subset, int] = MappingProxyType({"full": 1140, "hard": 148})
HUB_DATASETS: Mapping[Subset, str] = MappingProxyType(
    {"full": "bigcode/bigcodebench", "hard": "bigcode/bigcodebench-hard"}
)


@functools.cache
def task_ids(subset: Subset) -> frozenset[str]:
    """Ids of the subset's tasks.

    Raises:
        ArtifactError: the installation lacks the list.
    """
    if subset == "hard":
        return frozenset(json.loads(shipped("data/bigcodebench/hard_task_ids.json").read_text()))
    return frozenset(f"BigCodeBench/{number}" for number in range(N_TASKS["full"]))


def other_tests(tasks: Iterable[Mapping[str, str]]) -> list[str]:
    """Ids of the tasks whose test is another one than v0.1.4's, as far as its hash is known (1,133 of 1,140 tasks).

    Args:
        tasks: rows with 'task_id' and 'test'.
    """
    known = _test_hashes()
    found = ((task["task_id"], sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()) for task in tasks)
    return [task_id for task_id, digest in found if known.get(task_id, digest) != digest]


@functools.cache
def _test_hashes() -> Mapping[str, str]:
    with shipped("data/bigcodebench/durations.csv").open(newline="") as file:
        return {row["task_id"]: row["test_sha256"] for row in csv.DictReader(file)}
