"""The published figures as entries."""

import csv

from bigcodeflow.leaderboard.entries import published_entries
from tests.conftest import ROOT


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
        assert entry.pass_at_1 == int(row[column].replace(".", "")) / 1000, "58.1 % is 0.581, not 0.5810000000000001"
        assert (entry.origin, entry.ci_low, entry.run, entry.n_samples) == ("published", None, None, None)


def test_the_shipped_table_is_the_reference_one(reference_data):
    """What ships equals the table that this project was given, byte for byte."""
    ours = ROOT / "data" / "leaderboard" / "published_pass_at_1.csv"
    assert ours.read_bytes() == (reference_data / "leaderboard" / ours.name).read_bytes()
