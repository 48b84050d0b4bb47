"""Difficulty: names and ranges of solve rates, and the rates that ship."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.difficulty import (
    LEVELS,
    SHIPPED_SOLVE_RATES,
    level_of,
    parse_difficulty,
    published_solve_rates,
    tasks_of,
)
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS
from tests.conftest import ROOT


@given(st.floats(0, 1))
def test_every_solve_rate_lies_in_exactly_one_named_range(rate: float) -> None:
    """Hard, medium and easy leave no gap and share no rate."""
    assert [name for name, level in LEVELS.items() if level.holds(rate)] == [level_of(rate)]


@pytest.mark.parametrize(
    ("text", "held", "not_held"),
    [
        ("hard", [0, 0.2], [0.21]),
        ("Medium", [0.21, 0.5], [0.2, 0.8]),
        ("easy", [0.8, 1], [0.79]),
        ("0-0.2", [0, 0.2], [0.3]),
        (" 0.5 - 1.0 ", [0.5, 1], [0.49]),
    ],
)
def test_names_and_ranges_hold_both_of_their_ends(text: str, held: list[float], not_held: list[float]) -> None:
    """A range is written as two shares."""
    found = parse_difficulty(text)
    assert [found.holds(rate) for rate in (*held, *not_held)] == [True] * len(held) + [False] * len(not_held)


@pytest.mark.parametrize("text", ["", "harder", "0.2", "0.5-0.2", "-1-0.5", "0-20", "0-nan", "a-b"])
def test_another_text_is_refused_with_what_would_do(text: str) -> None:
    """The message names the levels and a range."""
    with pytest.raises(ValueError, match=r"neither hard, medium, easy nor a range of solve rates such as 0-0\.2"):
        parse_difficulty(text)


def test_the_shipped_rates_are_of_every_task() -> None:
    """1,140 tasks, each in one level, none of which is empty."""
    assert published_solve_rates().keys() == BIGCODEBENCH_IDS
    levels = [tasks_of(level) for level in LEVELS.values()]
    assert all(levels)
    assert sum(map(len, levels)) == len(BIGCODEBENCH_IDS)


@pytest.mark.real_data
def test_the_shipped_rates_are_made_of_the_recorded_results(reference_data, tmp_path, monkeypatch) -> None:
    """The script writes the shipped file again, byte for byte."""
    from benchmarks import solve_rates

    files = sorted(reference_data.glob("samples/*/*_eval_results.json.gz"))
    monkeypatch.setattr(sys, "argv", ["solve_rates", *map(str, files), "--out", str(tmp_path / "rates.jsonl")])
    solve_rates.main()
    assert (tmp_path / "rates.jsonl").read_bytes() == (ROOT / SHIPPED_SOLVE_RATES).read_bytes()
