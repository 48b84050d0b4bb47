"""The files: JSON, CSV, Markdown, the original's shape, the page, a model's card; and the published figures."""

import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest
import yaml
from huggingface_hub import ModelCardData, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from bigcodeflow_leaderboard.entries import LeaderboardEntry, RunLink, published_entries, rankings
from bigcodeflow_leaderboard.history import Snapshot, snapshot_of
from bigcodeflow_leaderboard.outputs import card, files
from tests.conftest import ROOT

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
NASTY = "evil|<script>alert('x')</script>\"&--v"


@pytest.fixture
def snapshot(tmp_path, entry, published):
    """Ours and published of one model, a tie, a nasty name, an allowed shortcoming, three rankings."""
    return snapshot_of(
        tmp_path,
        [
            entry(model="acme/Nova-7B", pass_at_1=0.4912),
            entry(model="acme/Nova-7B", pass_at_1=0.41, split="instruct"),
            entry(model="acme/Nova-7B", pass_at_1=0.3, split="instruct", setting_key="1" * 12),
            entry(model=NASTY, pass_at_1=0.2, remarks=("only 97.0 % of the ground truths pass",)),
            published("nova-7b", 0.488, size_b=7.0),
            published("Other", 0.488),
            published("nova-7b", 0.2, subset="hard", n_tasks=148),
        ],
        NOON,
    )


def text_of(snapshot, name):
    return files(snapshot)[name].decode()


def test_the_same_snapshot_gives_the_same_bytes(snapshot):
    """leaderboard.json reads back as what it was written from; nothing of the clock or the machine is in the files."""
    again = Snapshot.model_validate_json(files(snapshot)["leaderboard.json"])
    assert again == snapshot
    assert files(snapshot) == files(again)


def test_every_field_of_the_json_is_documented():
    """docs/leaderboard.md has a row for each field of the snapshot, of an entry and of its run."""
    text = (ROOT / "docs" / "leaderboard.md").read_text()
    for model in (Snapshot, LeaderboardEntry, RunLink):
        for name, field in model.model_fields.items():
            assert field.description, name
            assert f"| `{name}` |" in text, f"docs/leaderboard.md lacks {name}"


def test_csv_holds_every_entry(snapshot):
    """One line an entry with full precision; unknown values are empty cells."""
    rows = list(csv.DictReader(io.StringIO(text_of(snapshot, "leaderboard.csv"))))
    assert [float(row["pass_at_1"]) for row in rows] == [entry.pass_at_1 for entry in snapshot.entries]
    assert [row["model"] for row in rows] == [entry.model for entry in snapshot.entries]
    assert {row["ci_low"] for row in rows if row["origin"] == "published"} == {""}
    assert {row["run"] for row in rows if row["origin"] == "ours"} == {"r1"}


def test_ours_stands_beside_the_published_figure():
    """For every published model, ours of the same name states how far it is from it, whatever the organisation."""
    entries = [entry for entry in published_entries() if (entry.subset, entry.split) == ("full", "complete")]
    ours = [
        entry.model_copy(update={"origin": "ours", "model": f"org/{entry.model.upper()}", "pass_at_1": 0.5})
        for entry in entries
    ]
    [ranking] = rankings([*entries, *ours])
    scores = {f"org/{entry.model.upper()}": entry.pass_at_1 for entry in entries}
    found = {rank.entry.model: rank.published for rank in ranking.ranks if rank.entry.origin == "ours"}
    assert found == scores


def test_equal_scores_share_a_rank_and_another_revision_is_not_the_published_model(snapshot, entry, published):
    """Ranks are 1, 2, 2, 4; a published figure is put beside the main revision only."""
    ranking = next(iter(rankings(snapshot.entries)))
    assert [rank.position for rank in ranking.ranks] == [1, 2, 2, 4]
    [ranking] = rankings([published("nova-7b", 0.5), entry(model="acme/nova-7b", revision="v2")])
    assert [rank.published for rank in ranking.ranks] == [None, None]


def test_ranks_compare_scores_as_they_are_published(entry, published):
    """Published figures have one decimal: 50.04 is no better than 50.0, and 50.06 is."""
    entries = [published("a", 0.5), entry(model="b", pass_at_1=0.5004), entry(model="c", pass_at_1=0.5006)]
    [ranking] = rankings(entries)
    assert {rank.entry.model: rank.position for rank in ranking.ranks} == {"c": 1, "a": 2, "b": 2}


def test_markdown_tables_are_whole(snapshot):
    """Every line of a table has as many cells as its heading, whatever the names hold; nothing is HTML."""
    text = text_of(snapshot, "leaderboard.md")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {14}
    assert len(lines) == len(snapshot.entries) + 2 * 3
    assert "<script" not in text
    assert "| 1 | acme/Nova-7B | ours | 49.1 | 47.0 to 53.0 | 48.8 | +0.3 | 1,140 | 99.5 |" in text
    assert "only 97.0 % of the ground truths pass" in text


def test_the_originals_shape(snapshot):
    """Percent with one decimal by split, published names untouched, ours marked, unknown values null."""
    full = json.loads(text_of(snapshot, "results.json"))
    keys = ["link", "open-data", "pass@1", "prompted", "moe", "size", "act_param", "elo_mle"]
    assert {tuple(row) for row in full.values()} == {tuple(keys)}
    assert full["nova-7b"] == {
        **dict.fromkeys(keys), "pass@1": {"instruct": None, "complete": 48.8}, "size": 7.0
    }  # fmt: skip
    ours = full["acme/Nova-7B (bigcodeflow: openai, temperature 0)"]
    assert ours["pass@1"] == {"instruct": 41.0, "complete": 49.1}
    assert ours["prompted"] is True
    assert full["acme/Nova-7B (bigcodeflow: openai, temperature 0; 111111111111)"]["pass@1"]["instruct"] == 30.0
    assert list(json.loads(text_of(snapshot, "results-hard.json"))) == ["nova-7b"]


def test_the_page_needs_nothing_else(snapshot):
    """No address but places in the page, no further file, a policy that forbids both; no model's name is markup."""
    text = text_of(snapshot, "leaderboard.html")
    assert "<script>alert" not in text
    assert "evil|&lt;script&gt;" in text
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\s(src|srcset|action|data)=", text)
    assert set(re.findall(r"href=\"#([^\"]+)", text)) <= set(re.findall(r"id=\"([^\"]+)", text))
    assert "content=\"default-src 'none'" in text


@pytest.mark.slow
def test_the_page_sorts_and_filters_in_a_browser(snapshot, tmp_path, read):
    """A click on a heading sorts by value with unknown values last, a second one turns it round; the filter hides."""
    file = tmp_path / "page.html"
    file.write_text(text_of(snapshot, "leaderboard.html"))
    reader = read(file.as_uri())
    page = reader.page
    page.goto(file.as_uri())
    assert reader.findings() == []
    heads = page.locator("#full-complete thead th")

    def shown():
        names = page.locator("#full-complete tbody tr:visible th").all_inner_texts()
        return ",".join(name[:12] for name in names)

    log = []
    for column in (1, 3, 3, 5):
        heads.nth(column).get_by_role("button").click()
        log.append(shown() + heads.nth(column).get_attribute("aria-sort"))
    page.locator("#text").fill("NOVA")
    log.append(shown())
    page.locator("#origin").select_option("ours")
    assert [*log, shown()] == [
        "acme/Nova-7B,evil|<script,nova-7b,Otherascending",
        "acme/Nova-7B,nova-7b,Other,evil|<scriptdescending",
        "evil|<script,nova-7b,Other,acme/Nova-7Bascending",
        "acme/Nova-7B,evil|<script,nova-7b,Otherdescending",
        "acme/Nova-7B,nova-7b",
        "acme/Nova-7B",
    ]


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


def test_eval_results_are_the_hubs_format(entry):
    """The hub's client reads them; the score is in percent, the dataset is pinned, the notes say how it was judged."""
    [found] = parse_eval_result_entries(yaml.safe_load(card(entry(pass_at_1=0.49561))))
    assert (found.dataset_id, found.task_id, found.value) == ("bigcode/bigcodebench", "complete", 49.56)
    assert (found.dataset_revision, found.date) == ("c" * 40, "2026-11-01T12:00:00Z")
    assert "95 % interval 47.0 to 53.0" in found.notes
    assert "openai, temperature 0" in found.notes


def test_only_the_benchmarks_own_dataset_is_named_with_its_commit(entry):
    """A file, or a copy, has no revision in the benchmark's repository; BigCodeBench-Hard is another repository."""
    run = {"record": "r", "dataset": "mine/copy@v0.1.4", "dataset_revision": "d" * 40, "artifacts": {}}
    [found] = parse_eval_result_entries(yaml.safe_load(card(entry(subset="hard", n_tasks=148, run=run))))
    assert (found.dataset_id, found.dataset_revision) == ("bigcode/bigcodebench-hard", None)


def test_the_model_index_is_the_hubs_format(entry):
    """Model, dataset and metric come back from the front matter as the hub's client reads it."""
    content = yaml.safe_load(card(entry(split="instruct"), "model-index"))
    name, [found] = model_index_to_eval_results(content["model-index"])
    assert name == "acme/nova-7b"
    assert (found.dataset_type, found.metric_type, found.metric_value) == ("bigcode/bigcodebench", "pass@1", 50.0)
    assert found.dataset_args == {"split": "instruct"}
    assert ModelCardData(**content, model_name=name).eval_results == [found]
