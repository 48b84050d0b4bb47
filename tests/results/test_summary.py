"""The summary as a reader of the terminal sees it."""

from io import StringIO

import pytest
from rich.console import Console

from bigcodeflow.results.aggregation import ground_truth_failures
from bigcodeflow.results.summary import render_summary


def text_of(tables, k=(1,), width=140, **options):
    """The summary's plain text, runs of blanks made one."""
    failures = ground_truth_failures(tables.paths()["ground_truth"])
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(render_summary(tables.metrics(k), failures=failures, **options))
    lines = console.file.getvalue().splitlines()
    return "\n".join(" ".join(line.replace("│", "|").split()) for line in lines)


def test_scores_have_interval_and_numbers(three_tasks):
    """One line a variant, sanitizer and k, that fits a terminal of 80 columns: value, interval, judgeable score."""
    text = text_of(three_tasks, title="first run", width=80)
    assert text.startswith("first run: 3 samples of 3 tasks\n")
    assert "| calibrated | parity | pass@1 | 66.7 % | 6.0 to 98.7 | 50.0 % of 2 |" in text


def test_ground_truths_are_named_beside_their_rate(three_tasks):
    """The rate is followed by the tasks that cannot be judged and why."""
    assert "Ground truths: 2 of 3 pass (66.7 %); not judgeable here: Demo/3 (missing_setup)" in text_of(three_tasks)


def test_a_long_list_of_ground_truths_is_cut(tables):
    """Twelve tasks are named, the rest is counted."""
    for number in range(20):
        tables.task(f"Demo/{number}", ground_truth="timeout")
        tables.sample(f"Demo/{number}")
    text = text_of(tables, width=400)
    assert "Demo/11 (timeout) and 8 more" in text
    assert "Demo/12 (timeout)" not in text


def test_domains_and_failure_kinds_have_tables(three_tasks):
    """Domains show score, interval and tasks; failure kinds and solution flags show count and share."""
    text = text_of(three_tasks)
    assert "provisional" not in text
    assert "Warning" not in text
    assert "pass@1 by domain" in text
    assert "| Math | 50.0 % 0.3 to 99.7 | 2 |" in text
    assert "| assertion | 1 33.3 % |" in text
    assert "| truncated | 1 33.3 % |" in text


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


def test_a_score_that_nobody_can_give_says_so(tables):
    """Where no sample was judged the cell says that instead of a number."""
    tables.task("Demo/1", domains=["Math"])
    tables.sample("Demo/1", "infra_error")
    assert "none judged (provisional)" in text_of(tables)


def test_too_large_a_k_is_explained(three_tasks):
    """Where no requested k can be reported, the summary says why there is no score."""
    assert "No pass@k: every requested k is larger" in text_of(three_tasks, k=(5, 10))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_numbers_survive_a_narrow_terminal(three_tasks, width):
    """In a narrow terminal cells wrap; the score is still there."""
    assert "66.7 %" in text_of(three_tasks, width=width)
