"""The published figures as entries."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.leaderboard.entries import _published, published_entries
from tests.conftest import ROOT

HEADER = "model,full_complete,full_instruct,hard_complete,hard_instruct,size_b,date\n"


def test_every_figure_of_the_table_is_one_entry():
    """All 202 models are there, with the digits of the table and nothing claimed that it does not say."""
    with (ROOT / "data" / "leaderboard" / "published_pass_at_1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    entries = published_entries()
    found = {(entry.model, f"{entry.subset}_{entry.split}"): entry for entry in entries}
    assert len(rows) == len({entry.model for entry in entries}) == 202
    columns = ("full_complete", "full_instruct", "hard_complete", "hard_instruct")
    assert len(entries) == len(found) == sum(bool(row[column]) for row in rows for column in columns)
    for (model, column), entry in found.items():
        [row] = [row for row in rows if row["model"] == model]
        assert f"{100 * entry.pass_at_1:.1f}" == row[column]
        assert (entry.origin, entry.ci_low, entry.run, entry.n_samples) == ("published", None, None, None)


def test_the_shipped_table_is_the_reference_one(reference_data):
    """What ships equals the table that this project was given, byte for byte."""
    ours = ROOT / "data" / "leaderboard" / "published_pass_at_1.csv"
    assert ours.read_bytes() == (reference_data / "leaderboard" / ours.name).read_bytes()


@given(st.integers(0, 1000))
def test_percent_becomes_the_nearest_share(tenths):
    """58.1 % is 0.581, not 0.5810000000000001."""
    row = dict.fromkeys(HEADER.strip().split(","), "") | {"full_complete": f"{tenths // 10}.{tenths % 10}"}
    [entry] = _published(row, "here")
    assert entry.pass_at_1 == tenths / 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,score\n", "first line must be model,full_complete"),
        (HEADER + "m,1,2,3\n", "line 2: has not 7 cells"),
        (HEADER + "m,1,2,3,4,5,2024-01-01,more\n", "line 2: has not 7 cells"),
        (HEADER + "m,high,2,3,4,5,2024-01-01\n", "line 2: full_complete"),
        (HEADER + "m,101,2,3,4,5,2024-01-01\n", "line 2: full_complete"),
        (HEADER + "m,1,2,3,4,big,2024-01-01\n", "line 2: full_complete or size_b"),
    ],
)
def test_a_wrong_table_is_named_by_line(tmp_path, text, message):
    """A figure is never guessed: file, line and column stand in the message."""
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ArtifactError, match=message):
        published_entries(path)
