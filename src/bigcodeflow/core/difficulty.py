"""Difficulty of a task: its solve rate, the share of published models that solve it. See docs/datasets.md."""

import json
import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from bigcodeflow.core.paths import shipped

#: Solve rates that ship with the product: JSON lines with task_id and solve_rate, in percent as the benchmark's
#: authors publish them.
SHIPPED_SOLVE_RATES = "data/bigcodebench/solve_rates.jsonl"
_PERCENT = 100


class Difficulty(NamedTuple):
    """A range of solve rates, both ends included."""

    low: float
    high: float

    def holds(self, solve_rate: float) -> bool:
        """Tell if the solve rate of a task, a share in 0..1, lies in the range."""
        return self.low <= solve_rate <= self.high


#: Named ranges; together they cover every rate, and none overlaps another.
LEVELS: Mapping[str, Difficulty] = MappingProxyType(
    {
        "hard": Difficulty(0.0, 0.2),
        "medium": Difficulty(math.nextafter(0.2, 1), math.nextafter(0.8, 0)),
        "easy": Difficulty(0.8, 1.0),
    }
)


def parse_difficulty(text: str) -> Difficulty:
    """Return the range for a level's name or a text such as '0-0.2'; raise ValueError for any other text."""
    wanted = text.strip().lower()
    if wanted in LEVELS:
        return LEVELS[wanted]
    low, separator, high = wanted.partition("-")
    try:
        found = Difficulty(float(low), float(high))
    except ValueError:
        separator = ""
    if not separator or not 0 <= found.low <= found.high <= 1:
        raise ValueError(f"{text!r} is neither {', '.join(LEVELS)} nor a range of solve rates such as 0-0.2")
    return found


@cache
def published_solve_rates() -> Mapping[str, float]:
    """Read the shipped solve rates, as shares in 0..1, by the ids of BigCodeBench's tasks."""
    lines = shipped(SHIPPED_SOLVE_RATES).read_text(encoding="utf-8").splitlines()
    return MappingProxyType({row["task_id"]: row["solve_rate"] / _PERCENT for row in map(json.loads, lines)})


def tasks_of(difficulty: Difficulty) -> frozenset[str]:
    """Return the ids of BigCodeBench's tasks whose shipped solve rate lies in the range."""
    return frozenset(task_id for task_id, rate in published_solve_rates().items() if difficulty.holds(rate))
