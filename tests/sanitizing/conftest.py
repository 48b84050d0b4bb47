"""Real answers with what the original made of them, and the original's method, tried out literally."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bigcodeflow.sanitizing.grammar import parse_or_none
from tests.sanitizing.golden import SAMPLE_FILES, Pair

BruteForce = Callable[[str], str]


@pytest.fixture(scope="session", params=SAMPLE_FILES)
def golden_pairs(request: pytest.FixtureRequest, reference_data: Path) -> list[Pair]:
    """The pairs of one sample file."""
    (path,) = (reference_data / "samples").glob(request.param)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [Pair(row["task_id"], row["raw_solution"], row["solution"]) for row in rows]


@pytest.fixture(scope="session")
def brute_force() -> BruteForce:
    """The longest program by trying every pair of lines, as the original does."""

    def search(text: str) -> str:
        lines = text.split("\n")
        best, most = (0, 0), 0
        for first in range(len(lines)):
            for last in range(first + 1, len(lines)):
                picked = lines[first : last + 1]
                code = sum(1 for line in picked if line.strip())
                if code > most and parse_or_none("\n".join(picked)) is not None:
                    best, most = (first, last), code
        return "\n".join(lines[best[0] : best[1] + 1])

    return search
