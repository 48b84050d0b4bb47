"""The summary as a reader of the terminal sees it, and what it says of chance: quarantine, flaky samples and truths."""

import json

import pytest

from bigcodeflow.results.aggregation import ground_truth_failures
from bigcodeflow.results.exports import write_pass_at_k
from bigcodeflow.results.summary import brief_score, render_summary
from tests.results.conftest import printed


def text_of(tables, k=(1,), width=140, **options):
    """The summary's plain text, runs of blanks made one."""
    failures = ground_truth_failures(tables.paths()["ground_truth"])
    lines = printed(render_summary(tables.metrics(k), failures=failures, **options), width).splitlines()
    return "\n".join(" ".join(line.replace("│", "|").split()) for line in lines)


def test_scores_ground_truths_domains_and_failures_are_shown(three_tasks):
    """Value, interval and judgeable score in a line, the tasks that cannot be judged, and counts with their shares."""
    text = text_of(three_tasks, title="first run", width=80)
    assert text.startswith("first run: 3 samples of 3 tasks\n")
    assert brief_score(three_tasks.metrics()) == "pass@1 66.7 %, 95 % interval 6.0 to 98.7 (calibrated, parity)"
    assert "| calibrated | parity | pass@1 | 66.7 % | 6.0 to 98.7 | 50.0 % of 2 |" in text
    text = text_of(three_tasks)
    assert "Ground truths: 2 of 3 pass (66.7 %); not judgeable here: Demo/3 (missing_setup)" in text
    assert "pass@1 by domain" in text
    for row in ("Math | 50.0 % 0.3 to 99.7 | 2", "assertion | 1 33.3 %", "truncated | 1 33.3 %"):
        assert f"| {row} |" in text
    assert "provisional" not in text
    assert "Warning" not in text


def test_the_title_counts_the_tasks_of_the_smallest_k(tables):
    """A pass@2 that no task has enough judged samples for would else be a run of no tasks."""
    tables.task("Demo/1")
    tables.sample("Demo/1", "pass")
    tables.sample("Demo/1", "infra_error", index=1)
    assert text_of(tables, k=(1, 2), title="run").startswith("run: 1 samples of 1 tasks\n")


def test_a_long_list_of_ground_truths_is_cut(tables):
    """Twelve tasks are named, the rest is counted."""
    for number in range(20):
        tables.task(f"Demo/{number}", ground_truth="timeout")
        tables.sample(f"Demo/{number}")
    text = text_of(tables, width=400)
    assert "Demo/11 (timeout) and 8 more" in text
    assert "Demo/12 (timeout)" not in text


def test_raw_numbers_are_left_out_where_they_are_the_same(tables):
    """One line and one column then say all, and a note says so."""
    tables.task("Demo/1")
    tables.sample("Demo/1", "fail", kind="exception", variants=("calibrated", "raw"))
    text = text_of(tables)
    assert "| raw |" not in text
    assert "raw, parity" not in text
    assert "Raw solutions: the same in every number" in text
    tables.sample("Demo/1", "fail", kind="exception", index=1)
    tables.verdict("Demo/1", "pass", variant="raw", index=1)
    assert "| raw | parity | pass@1 | 50.0 %" in text_of(tables)


def test_variants_and_sanitizers_stand_side_by_side(tables):
    """Each pair has its line among the scores and its column among the failures, 0 where it has none."""
    tables.task("Demo/1")
    tables.sample("Demo/1", "fail", kind="missing_setup", variants=("raw",))
    tables.verdict("Demo/1", "pass")
    text = text_of(tables)
    assert "| calibrated | parity | pass@1 | 100.0 %" in text
    assert "| raw | parity | pass@1 | 0.0 %" in text
    assert "| missing setup | 0 | 1 100.0 % |" in text


def test_several_samples_a_task_have_their_metrics(tables):
    """With two samples a task the metrics that need them are listed with intervals; with one there is no such table."""
    tables.task("Demo/1")
    tables.sample("Demo/1", "pass")
    text = text_of(tables, k=(1, 2))
    assert "Several samples" not in text
    assert "Ground truths: 1 of 1 pass (100.0 %)" in text.splitlines()  # nobody is named behind it
    tables.sample("Demo/1", "fail", index=1)
    text = text_of(tables, k=(1, 2), width=80)
    metrics = ("avg@N | 50.0 % ", "Bayes@N, credible interval | 50.0 % 6.2 to 93.8 |", "pass^2 | 0.0 % ")
    metrics += ("G-Pass@2, τ 0.5 | 100.0 % ", "G-Pass@2, τ 0.75 | 0.0 % ", "mG-Pass@2 | 0.0 % ")
    assert [line for line in metrics if f"| {line}" not in text] == []


def test_unjudged_samples_are_a_warning(tables):
    """Infra errors mark the score as provisional and end the summary with a warning that says what to do."""
    for number, status in enumerate(("pass", "infra_error", "fail")):
        tables.task(f"Demo/{number}")
        tables.sample(f"Demo/{number}", status, kind={"infra_error": "infrastructure"}.get(status, ""))
    text = text_of(tables)
    assert "| 50.0 % (provisional) |" in text
    assert "Warning: 1 of 3 samples (calibrated, parity) were not judged" in text
    tables.rows["verdicts"] = [row | {"status": "infra_error"} for row in tables.rows["verdicts"]]
    assert "none judged (provisional)" in text_of(tables)


def test_too_large_a_k_is_explained(three_tasks):
    """Where no requested k can be reported, the summary says why there is no score."""
    assert "No pass@k: every requested k is larger" in text_of(three_tasks, k=(5, 10))


def overall(table):
    """Values of the rows over all tasks, by metric, each with the number of tasks behind it."""
    rows = [row for row in table.to_pylist() if row["slice_kind"] == "all"]
    return {row["metric"]: (row["value"], row["n_tasks"]) for row in rows}


def summary_text(table):
    """The summary's text in one line."""
    return " ".join(printed(render_summary(table)).split())


@pytest.fixture
def four_tasks(tables):
    """Two of four pass; the quarantined task A/3 is one of them."""
    for number, status in enumerate(("pass", "fail", "fail", "pass")):
        tables.task(f"A/{number}", domains=["Math"])
        tables.sample(f"A/{number}", status, kind="assertion" if status == "fail" else "")
    return tables


def test_without_quarantine_nothing_is_said(four_tasks):
    """A run in an environment that was never checked has the metrics that it always had."""
    found = overall(four_tasks.metrics())
    assert set(found) == {"pass@k", "pass@k_judgeable", "ground_truth_rate", "sample_count", "infra_error_count"}
    assert "Quarantine" not in summary_text(four_tasks.metrics())
    assert four_tasks.metrics(quarantined=["B/9"], exclude_quarantined=True).num_rows >= four_tasks.metrics().num_rows


def test_flagged_tasks_change_no_score_and_are_reported(four_tasks):
    """The score over all tasks stays what it was; the one without the flagged task stands beside it."""
    plain, table = overall(four_tasks.metrics()), four_tasks.metrics(quarantined=["A/3", "B/9"])
    found = overall(table)
    assert {name: found[name] for name in plain} == plain
    assert found["pass@k_unquarantined"] == (pytest.approx(1 / 3), 3)
    assert found["quarantined_task_count"] == (1.0, 4)
    assert (
        "Quarantine: 1 of 4 tasks is not reliable here and part of every score (calibrated, parity); "
        "without them: pass@1 33.3 % of 3."
    ) in summary_text(table)


def test_excluded_tasks_leave_every_denominator(four_tasks, tmp_path):
    """Scores, slices included, are over the other tasks; the summary and the exported file say that tasks are missing."""
    table = four_tasks.metrics(quarantined=["A/3"], exclude_quarantined=True)
    found = overall(table)
    assert found["pass@k"] == found["pass@k_judgeable"] == (pytest.approx(1 / 3), 3)
    assert found["pass@k_with_quarantined"] == (0.5, 4)
    assert found["excluded_task_count"] == (1.0, 4)
    [domain] = [row for row in table.to_pylist() if row["slice"] == "Math" and row["metric"] == "pass@k"]
    assert domain["n_tasks"] == 3
    assert "left out of every score (calibrated, parity); with them: pass@1 50.0 % of 4." in summary_text(table)
    paths = four_tasks.paths()
    where = {"ground_truth": paths["ground_truth"], "model": "m", "variant": "calibrated", "sanitizer": "parity"}
    exported = json.loads(write_pass_at_k(tmp_path / "x.json", metrics=table, **where).read_text())
    assert (exported["pass@1"], exported["excluded_task_count"]) == (pytest.approx(1 / 3), 1)
    plain = json.loads(write_pass_at_k(tmp_path / "y.json", metrics=four_tasks.metrics(), **where).read_text())
    assert "excluded_task_count" not in plain


def test_reruns_are_counted_beside_the_score(tables):
    """How many samples were executed more than once, and how many of them came out differently."""
    for number, (status, flaky) in enumerate([("pass", None), ("fail", False), ("pass", True), ("fail", True)]):
        tables.task(f"A/{number}")
        tables.sample(f"A/{number}", status, flaky=flaky)
    found = overall(tables.metrics())
    assert (found["rerun_count"], found["flaky_count"]) == ((3.0, 4), (2.0, 4))
    assert (
        "Reruns: 3 of 4 samples (calibrated, parity) were executed more than once; 2 of them came out differently "
        "and count as flaky."
    ) in summary_text(tables.metrics())


def test_a_ground_truth_that_passed_only_again_is_reported(tables):
    """It counts as passing, and the line of the ground truths says that it does not always."""
    tables.task("A/1", flaky=True)
    tables.task("A/2")
    for number in (1, 2):
        tables.sample(f"A/{number}")
    found = overall(tables.metrics())
    assert (found["ground_truth_rate"], found["ground_truth_flaky_count"]) == ((1.0, 2), (1.0, 2))
    assert "Ground truths: 2 of 2 pass (100.0 %), 1 of them not in every execution" in summary_text(tables.metrics())
