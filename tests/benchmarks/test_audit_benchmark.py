"""The blind sample of findings: what is drawn, and the share that a reader confirms."""

import csv
from pathlib import Path
from typing import Any

import pytest

from benchmarks.audit import checked, drawn, wilson, written


def finding(number: int, **changes: Any) -> dict[str, Any]:
    row = {"task_id": f"a/{number % 4}", "method": "mutation", "kind": "too weak", "line": number, "text": "t"}
    return row | {"before": "1", "after": "2"} | changes


def test_a_draw_is_spread_over_tasks_and_leaves_out_what_claims_nothing() -> None:
    """Undecided mutants and counts are no claims; known errata were judged before."""
    others = [finding(1, kind="undecided"), finding(2, kind="counted"), finding(3, method="errata")]
    rows = [finding(number) for number in range(12)] + others
    found = drawn(rows, 6, seed=3)
    assert found == drawn(rows, 6, seed=3)
    assert {row["task_id"] for row in found[:4]} == {"a/0", "a/1", "a/2", "a/3"}
    assert not [row for row in found if row in others]
    assert len(drawn(rows, 100, seed=3)) == 12


def test_a_reader_gets_texts_and_an_empty_column(tmp_path: Path) -> None:
    """The file of a finding does not tell what found it."""
    tasks = {"a/1": {"complete_prompt": "def f():\n", "canonical_solution": "    pass", "test": "import unittest"}}
    written([finding(1)], tasks, tmp_path)
    with (tmp_path / "verdicts.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["verdict"] == row["by_text"] == ""
    text = (tmp_path / "01.txt").read_text()
    assert "   2     pass" in text
    assert "mutation" not in text


def test_the_share_counts_judged_findings_with_an_interval() -> None:
    """Open ones are named and in no share."""
    rows = [finding(n, verdict="right") for n in range(9)] + [finding(9, verdict="Wrong "), finding(10, verdict="")]
    table = checked(rows)
    assert table.rows[-1] == ("all", 10, 9, "90.0 %", "59.6 to 98.2")
    assert table.notes == ["1 of 11 findings have no verdict yet."]
    by_text = [row | {"by_text": "yes" if number < 5 or number == 9 else "no"} for number, row in enumerate(rows)]
    assert checked(by_text).rows[-1] == ("all, and the task's text decides it", 10, 5, "50.0 %", "23.7 to 76.3")
    assert wilson(0, 0) is None
    assert wilson(5, 10) == (pytest.approx(0.2366, abs=1e-4), pytest.approx(0.7634, abs=1e-4))
