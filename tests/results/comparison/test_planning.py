"""Planned tasks and samples, from recorded runs and without, and as the command prints them."""

import json
import math
from functools import partial
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.cli.compare import plan
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.results.planning import (
    MOST_SAMPLES,
    Question,
    Variances,
    basis_of,
    power,
    samples_needed,
    smallest_difference,
    tasks_needed,
)

variances = st.builds(Variances, st.floats(0, 0.5), st.floats(0, 0.5))
questions = st.builds(Question, variances, st.floats(0.5, 0.99), st.floats(0.001, 0.2))
differences = st.floats(0.005, 0.5)
TYPICAL = Question(Variances(0.15, 0.125))


@given(questions, differences, st.integers(1, 50))
def test_the_planned_tasks_are_the_fewest_with_the_power(question, difference, n_samples):
    """The planned number of tasks has the power that was asked for, and one task less has not."""
    n_tasks = tasks_needed(question, difference, n_samples)
    assert power(question, difference, n_tasks, n_samples) >= question.power - 1e-6
    if n_tasks > 2:
        assert power(question, difference, n_tasks - 1, n_samples) < question.power + 1e-6


@given(questions, differences, st.integers(2, 5000))
def test_the_planned_samples_are_the_fewest(question, difference, n_tasks):
    """So many samples do with the given tasks, one less does not; None where even the most do not."""
    n_samples = samples_needed(question, difference, n_tasks)
    if n_samples is None:
        assert tasks_needed(question, difference, MOST_SAMPLES) > n_tasks
        return
    assert tasks_needed(question, difference, n_samples) <= n_tasks
    if n_samples > 1:
        assert tasks_needed(question, difference, n_samples - 1) > n_tasks


@given(questions, st.integers(10, 5000), st.sampled_from([1, 2, 10, math.inf]))
def test_the_smallest_difference_is_at_the_edge(question, n_tasks, n_samples):
    """The smallest difference has the power that was asked for, and a little less of it has not."""
    found = smallest_difference(question, n_tasks, n_samples)
    if found is None:
        assert power(question, 1.0, n_tasks, n_samples) < question.power
        return
    assert power(question, found, n_tasks, n_samples) >= question.power
    assert power(question, found - 2e-7, n_tasks, n_samples) < question.power


@given(differences)
def test_runs_that_agree_everywhere_promise_no_miracle(difference):
    """Without any variance on record, one sample a task needs more tasks than can show the difference at all."""
    n_tasks = tasks_needed(Question(Variances(0.0, 0.0)), difference, 1)
    # McNemar's exact test calls nothing significant where fewer than 6 tasks decide.
    assert n_tasks * difference > 6


@pytest.fixture
def recorded(runs):
    """Runs of 40 tasks with four samples, with one, and with one that agrees everywhere."""
    for name, shift in (("first", 0), ("second", 1)):
        passed = {task: (task + shift) % 5 for task in range(40)}
        runs.add(name, {f"Demo/{task}": ["pass"] * one + ["fail"] * (4 - one) for task, one in passed.items()})
    runs.add("single", {f"Demo/{task}": "pass" if task % 2 else "fail" for task in range(40)})
    runs.add("other", {f"Demo/{task}": "pass" if task % 3 else "fail" for task in range(40)})
    runs.add("tiny", {"Demo/0": ["pass", "fail"]})
    return runs


def test_one_sample_a_task_says_what_is_assumed(recorded):
    """Total variance of one sample is that of the runs; how it splits is assumed, and a note says so."""
    basis = basis_of(open_runs(recorded.root, ["single", "other"]))
    differences = [(task % 2 != 0) - (task % 3 != 0) for task in range(40)]
    mean = fmean(differences)
    total = sum((value - mean) ** 2 for value in differences) / 39
    assert sum(basis.variances) == pytest.approx(total)
    assert min(basis.variances) > 0
    assert any("there is one sample a task" in note for note in basis.notes)


@pytest.mark.parametrize(
    ("names", "within", "assumption"),
    [
        (["first", "single"], 1 / 6 + 0.25 * 0.5 * 0.5, "Assumed, as single"),
        # Counts 0 to 4 of 4 occur equally often: the mean of c (4 - c) / 12 is 1/6 on either run.
        (["first", "second"], 2 / 6, ""),
        (["first"], 2 / 6, "the other model is like it"),
    ],
)
def test_what_runs_do_not_show_is_assumed_and_said(recorded, names, within, assumption):
    """One sample a task of one run, nothing, and how far a model differs on tasks from one that is not given."""
    basis = basis_of(open_runs(recorded.root, names, fewest=1))
    assert basis.variances.within == pytest.approx(within)
    assumed = [note for note in basis.notes if "ssumed" in note]
    assert [assumption in note for note in assumed] == ([True] if assumption else [])


def test_without_runs_the_assumption_is_stated():
    """The assumed variances of one sample make 27.5 % of tasks fall to one model alone."""
    basis = basis_of([])
    assert (sum(basis.variances), basis.n_tasks) == (pytest.approx(0.275), 0)
    assert basis.notes[0].startswith("Assumed")


def test_a_single_common_task_is_refused(recorded):
    """One task has no variance; the error says how many there are."""
    with pytest.raises(ArtifactError, match="have 1 tasks with judged samples in common"):
        basis_of(open_runs(recorded.root, ["first", "tiny"]))


@pytest.fixture
def call(command):
    """Plans a comparison."""
    return partial(command, plan, 100)


def test_what_no_number_of_samples_reaches_is_said(call):
    """A difference that the benchmark is too small for is called so, with the number of tasks that it takes."""
    shown = " ".join(call("--difference", "5").split())
    fewest, full = tasks_needed(TYPICAL, 0.05, math.inf), samples_needed(TYPICAL, 0.05, 1140)
    assert f"hard, 148 tasks: not by any number of samples; it takes {fewest:,} tasks or more" in shown
    assert f"full, 1,140 tasks: {full} sample" in shown


def test_json_holds_every_figure(call):
    """One object with the variances, a row a number of samples, and null for what there is no limit of."""
    found = json.loads(call("--difference", "5", "--tasks", "400", "--samples", "1,10", "--json"))
    assert [row["samples"] for row in found["rows"]] == [1, 10, None]
    assert found["rows"][0]["tasks"] == tasks_needed(TYPICAL, 0.05, 1)
    assert found["rows"][1]["samples_in_all"] == 10 * found["rows"][1]["tasks"]
    assert found["rows"][2]["samples_in_all"] is None
    smallest = found["rows"][0]["smallest_difference_points"]["given"]
    assert smallest == pytest.approx(100 * smallest_difference(TYPICAL, 400, 1))
    assert found["benchmarks"] == [{"name": "given", "tasks": 400, "samples": samples_needed(TYPICAL, 0.05, 400)}]
    assert found["variance_between_tasks"] == pytest.approx(0.15)


def test_without_a_difference_it_tells_the_smallest(call, recorded):
    """Recorded runs and a number of tasks alone give what they can find."""
    shown = call("first", "second", "--tasks", "40")
    assert "Smallest difference found with power 0.8" in shown
    assert "tasks needed" not in shown
    assert "first · full · complete and second · full · complete, 40 tasks" in shown


@pytest.mark.parametrize(
    ("option", "values"),
    [("difference", "0 nan 100"), ("power", "0.01 1"), ("alpha", "0"), ("samples", "none 0 99999999999999999999")],
)
def test_impossible_questions_are_refused(call, option, values):
    """A number that cannot be planned for is named with what it needs."""
    for value in values.split():
        with pytest.raises(ConfigError, match=f"--{option} .*(must be|needs?) "):
            call(f"--{option}", value)


def test_three_runs_are_refused(call, recorded):
    """A plan is of two models."""
    with pytest.raises(ConfigError, match="at most two models, got 3"):
        call("first", "second", "single")
