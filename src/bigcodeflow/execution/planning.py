"""Orders and packs work: longest first, short items together, so that no core waits for the last long one."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from bigcodeflow.execution.items import WorkItem

_ITEMS_PER_BATCH = 16
_SECONDS_PER_BATCH = 10.0
#: Batches to aim for per slot, so that the last ones are small against the whole.
_BATCHES_PER_SLOT = 6


@dataclass(frozen=True, slots=True)
class Batch:
    """Items that one slot executes one after the other."""

    name: str
    """Derived from the items' keys: the same items make the same batch in a resumed run."""
    items: tuple[WorkItem, ...]
    expected_seconds: float


def plan_batches(items: Sequence[WorkItem], slots: int) -> list[Batch]:
    """Batches in the order in which they should start.

    Args:
        items: what is to be executed, each key once.
        slots: executions that run at the same time.
    """
    ordered = sorted(items, key=lambda item: (-item.expected_seconds, item.verdict_key))
    most = max(1, min(_ITEMS_PER_BATCH, len(ordered) // (slots * _BATCHES_PER_SLOT)))
    batches: list[Batch] = []
    current: list[WorkItem] = []
    seconds = 0.0
    for item in ordered:
        if current and (len(current) >= most or seconds + item.expected_seconds > _SECONDS_PER_BATCH):
            batches.append(_batch(current, seconds))
            current, seconds = [], 0.0
        current.append(item)
        seconds += item.expected_seconds
    if current:
        batches.append(_batch(current, seconds))
    return batches


def _batch(items: list[WorkItem], seconds: float) -> Batch:
    name = hashlib.sha256("".join(item.verdict_key for item in items).encode()).hexdigest()[:24]
    return Batch(name=name, items=tuple(items), expected_seconds=seconds)
