"""`bigcodeflow compare` as a user meets it: tables, Markdown, CSV, JSON and errors."""

import csv
import io
import json
from functools import partial

import pyarrow.parquet as pq
import pytest

from bigcodeflow.cli.compare import compare
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.results.comparison.paired_tests import mcnemar


@pytest.fixture
def call(command):
    """Compares runs in a wide terminal."""
    return partial(command, compare, 220, "--rounds", "200")


@pytest.fixture
def three(runs, outcomes):
    """Records of three runs, one clearly better than the others."""
    config, records = {"samples": {"source": "model"}}, []
    for name, line, temperature in (("good", "+" * 12, 0.0), ("fair", "+-" * 6, 0.8), ("poor", "-" * 11 + "t", 0.2)):
        generation = {"generation": {"sampling": {"temperature": temperature}}}
        records.append(runs.add(name, outcomes(line), model="org--model", config=config | generation))
    return records


def test_tables_state_intervals_and_plain_words(call, three):
    """Each pair has its difference, interval, p and a verdict in words; three runs also a matrix and ratings."""
    shown = call("good", "fair", "poor", "--all")
    ratings = ("Bradley-Terry ratings, ties as half", "Bradley-Terry ratings, ties left out")
    for text in ("#1 is better", "+100.0 *", "95 % interval", *ratings):
        assert text in shown
    assert "+50.0 *" not in shown  # p = 0.031 alone, 0.062 among three pairs


def test_pairs_that_chance_explains_are_called_so(call, runs, outcomes):
    """2 to 1 discordant tasks are no significant difference, whatever the scores."""
    runs.add("a", outcomes("++-+"))
    runs.add("b", outcomes("--++"))
    assert "no significant difference" in call("a", "b")


def test_temperatures_of_one_model_are_set_beside_scores(call, three):
    """Runs of one model that differ in temperature give a table in the order of temperature."""
    shown = call("good", "fair", "poor", "--all").partition("org/model by temperature")[2]
    assert shown.index("#1") < shown.index("#3") < shown.index("#2")


def test_task_lists_and_slices_come_when_asked_for(call, three):
    """--tasks lists the ids that only one run solves; each kind of slice, --by may be repeated, is a table of its own."""
    shown = call("good", "fair", "--tasks", "--by", "subset", "--by", "libraries")
    for title in ("Solved by #1, not by #2: 6", "pass@1 by subset", "pass@1 by libraries"):
        assert title in shown
    assert "Solved by #1" not in call("good", "fair")


def test_json_holds_everything_and_is_json(call, three):
    """Standard output is one JSON document with scores, pairs, ratings, rates and task lists."""
    content = json.loads(call("good", "poor", "--format", "json", "--by", "subset"))
    [pair] = content["pairs"]
    assert pair["difference"] == 1.0
    assert pair["p"] == mcnemar(12, 0)
    assert pair["verdict"] == "org/model · full · complete · temperature 0.0 is better"
    assert -1 <= pair["ci_low"] <= pair["ci_high"] <= 1
    assert [one["slice"] for one in content["slices"]] == ["not hard"]
    assert content["by"] == ["subset"]
    assert content["rates"][1]["timeout_rate"] == pytest.approx(1 / 12)
    assert content["discordant"][0]["only_first"][0] == "Demo/0"
    assert content["ratings"]["rows"][0]["rank"] == 1
    assert content["subjects"][0]["temperature"] == 0.0
    assert [one["record"] for one in content["subjects"]] == [three[0], three[2]]


def test_csv_has_a_row_a_pair_slice_and_k(call, three):
    """All tasks first, then the slices; numbers equal those of the JSON; a row says which records it is of."""
    rows = list(csv.DictReader(io.StringIO(call("good", "fair", "poor", "--format", "csv", "--by", "libraries"))))
    assert [(row["slice_kind"], row["slice"]) for row in rows] == [("all", "all")] * 3 + [("libraries", "0")] * 3
    content = json.loads(call("good", "fair", "poor", "--format", "json"))
    assert [float(row["p_holm"]) for row in rows[:3]] == [pair["p_holm"] for pair in content["pairs"]]
    for row in (rows[0], content["pairs"][0]):
        assert [row["first_record"], row["second_record"]] == three[:2]
        assert (row["split"], row["first_subset"], row["second_subset"]) == ("complete", "full", "full")


def test_markdown_has_the_notes_and_the_same_tables(call, runs, outcomes):
    """Notes stand in front, and every table row has as many cells as its heading."""
    record = runs.add("a", outcomes("+-+!"))
    runs.add("b", outcomes("--++"))
    text = call("a", "b", "--format", "markdown")
    assert f"| #1 | calibrated | parity | full | complete | 2026-01-01 | {record} |" in text
    assert text.startswith("> Warning: 1 samples of a · full · complete were not judged")
    table = text.partition("### Differences")[2].partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert {line.count("|") for line in table} == {6}


@pytest.mark.parametrize("k", ["", "one", "0", "1,-5"])
def test_a_k_that_is_none_is_refused(call, three, k):
    """--k takes positive whole numbers; anything else is one line that shows how to write it."""
    with pytest.raises(ConfigError, match="write it as 1,5,10"):
        call("good", "fair", "--k", k)


def test_the_verified_view_leaves_out_tasks_that_decide_nothing(call, runs, reference_data):
    """59 is passed by a function that returns None; the other task has no errata."""
    columns = ["task_id", "complete_prompt", "canonical_solution", "test"]
    rows = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet", columns=columns).to_pylist()
    facts = {row["task_id"]: row for row in rows if row["task_id"] in ("BigCodeBench/57", "BigCodeBench/59")}
    runs.add("one", dict.fromkeys(facts, "pass"), facts=facts)
    runs.add("two", dict.fromkeys(facts, "fail"), facts=facts)
    assert "Scores on 2 common tasks" in call("one", "two")
    assert "Scores on 1 common tasks" in call("one", "two", "--view", "verified")
