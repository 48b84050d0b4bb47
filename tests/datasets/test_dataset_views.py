"""A view narrows a dataset, or says why it cannot."""

from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import DatasetError
from bigcodeflow.datasets.tasks import parse_ids

from .conftest import load

_KNOWN = frozenset(f"BigCodeBench/{number}" for number in range(20))


@pytest.fixture
def source(make_task, write_parquet) -> Path:
    """Four tasks: two hard ones, different libraries and domains, in an order of their own."""
    return write_parquet(
        [
            make_task(task_id="BigCodeBench/13", libs="['requests']"),  # hard
            make_task(task_id="BigCodeBench/2", libs="['Levenshtein', 'json']"),
            make_task(task_id="BigCodeBench/17", libs="['numpy']"),  # hard
            make_task(task_id="BigCodeBench/1", libs="[]"),
        ]
    )


def _ids(source: Path, **view: Any) -> list[str]:
    return [task_id.removeprefix("BigCodeBench/") for task_id in load(source, **view)["task_id"].to_pylist()]


@pytest.mark.parametrize(
    ("view", "kept"),
    [
        ({}, ["13", "2", "17", "1"]),
        ({"subset": "hard"}, ["13", "17"]),
        ({"ids": "1, BigCodeBench/13"}, ["13", "1"]),
        ({"ids": "2-17"}, ["13", "2", "17"]),
        ({"libraries": ("NUMPY", "levenshtein")}, ["2", "17"]),
        ({"domains": ("network",)}, ["13"]),
        ({"domains": ("System", "Computation"), "subset": "hard"}, ["17"]),
        ({"ids": "13,17", "domains": ("Network",)}, ["13"]),
    ],
)
def test_views_keep_what_they_name_in_source_order(source: Path, view: dict, kept: list[str]) -> None:
    """Each filter narrows the one before and none reorders."""
    assert _ids(source, **view) == kept


def test_positions_are_those_before_the_view(source: Path) -> None:
    """A task keeps its place in the source whatever else is selected."""
    assert load(source, ids="17")["position"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"ids": "5000,13,x"}, r"dataset\.ids: 5000, x is not in the dataset: correct it; valid are numbers 0 to 1139"),
        ({"libraries": ("numpy", "nope")}, r"nope is unknown here: choose from json, Levenshtein, numpy, requests"),
        ({"domains": ("Nope",)}, r"Nope is unknown here: choose from Computation, Cryptography, General, Network"),
        ({"domains": ("Cryptography",)}, "no task matches domains Cryptography"),
        ({"subset": "hard", "ids": "1-2"}, "no task matches subset hard and ids 1-2"),
    ],
)
def test_views_that_cannot_be_are_refused(source: Path, view: dict, message: str) -> None:
    """Unknown names are named beside the known ones, and a view without tasks names its filters."""
    with pytest.raises(DatasetError, match=message):
        _ids(source, **view)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,5-9,BigCodeBench/12", {1, 5, 6, 7, 8, 9, 12}),
        (" 3 ,, 3 ", {3}),
        ("7-7", {7}),
        ("BigCodeBench/0-BigCodeBench/2", {0, 1, 2}),
        ("007", {7}),
    ],
)
def test_id_selections_mean_numbers_ranges_and_ids(text: str, numbers: set[int]) -> None:
    """The short forms of task ids are understood."""
    assert parse_ids(text, _KNOWN) == {f"BigCodeBench/{number}" for number in numbers}


@pytest.mark.parametrize("text", ["20", "0-20", "9-5", "-1", "BigCodeBench/99", "bigcodebench", "1.5", ",", "²"])
def test_entries_that_mean_no_task_are_refused(text: str) -> None:
    """Slips such as a range beyond the end or backwards are errors, never a smaller selection."""
    with pytest.raises(DatasetError, match="valid are numbers 0 to 19"):
        parse_ids(text, _KNOWN)


def test_ranges_pass_over_gaps_and_ids_need_no_number() -> None:
    """In an own dataset a range takes what exists, and ids without a number are named in full."""
    known = frozenset({"My/1", "My/4", "Your/4", "named-3-5"})
    assert parse_ids("1-4", known) == {"My/1", "My/4", "Your/4"}
    assert parse_ids("named-3-5", known) == {"named-3-5"}
    with pytest.raises(DatasetError, match=r"valid are the ids a, b$"):
        parse_ids("1", frozenset({"a", "b"}))
