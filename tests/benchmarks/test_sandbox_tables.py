"""The arithmetic behind the comparison with the original."""

import math

import pytest
import sandbox_tables as tables
from hypothesis import example, given
from hypothesis import strategies as st

walls = st.lists(st.floats(0, 300), min_size=1, max_size=60)


def known(original=2.0, suite=1.0, cpu=0.5, status="pass"):
    return tables.Recorded(original, suite, cpu, status)


def measured(task_id, wall, cpu=0.5, status="pass", **more):
    return {"task_id": task_id, "wall_seconds": wall, "cpu_seconds": cpu, "status": status} | more


@given(walls, st.integers(1, 8))
def test_a_replay_lies_between_the_perfect_schedule_and_that_plus_one_piece(pieces, workers):
    """Workers that take the next piece when they are free never idle before the last piece has begun."""
    floor = max(sum(pieces) / workers, *pieces)
    replayed = tables.replayed_seconds(pieces, workers)
    assert floor - 1e-6 <= replayed <= sum(pieces) / workers + max(pieces) + 1e-6


def test_a_replay_keeps_the_order_of_the_work():
    """A long check that comes last holds up the end, as it does in the original."""
    assert tables.replayed_seconds([1, 1, 10], 2) == 11
    assert tables.replayed_seconds([10, 1, 1], 2) == 10


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 300), min_size=1, max_size=50), st.integers(1, 15))
@example({"0": 0.0, "1": 0.0}, 2)
def test_dealing_loses_and_repeats_no_task_and_keeps_their_order(durations, blocks):
    """Every task is in exactly one block, blocks are never empty, and inside one the tasks stand as they were given."""
    recorded = {name: known(original=seconds) for name, seconds in durations.items()}
    dealt = tables.dealt(list(durations), recorded, blocks)
    assert sorted(name for block in dealt for name in block) == sorted(durations)
    assert len(dealt) == min(blocks, len(durations))
    assert all(block and block == [name for name in durations if name in set(block)] for block in dealt)


def test_blocks_and_samples_spread_over_the_durations():
    """Short tasks fill up the blocks that got none of the long ones; every first task is all of them."""
    recorded = {str(number): known(original=float(number)) for number in range(100)}
    sums = [sum(map(float, block)) for block in tables.dealt(list(recorded), recorded, 4)]
    assert max(sums) - min(sums) <= 3
    assert tables.every_kth(list(recorded), recorded, 25) == ["12", "37", "62", "87"]
    assert sorted(tables.every_kth(list(recorded), recorded, 1)) == sorted(recorded)


def test_what_was_measured_in_full_is_not_estimated():
    """With every task measured, the recorded costs change nothing."""
    rows = {"a": measured("a", 3.0, 1.0), "b": measured("b", 5.0, 2.0)}
    for recorded in (known(), known(original=99.0, suite=98.0, cpu=97.0)):
        got = tables.estimate(rows, ["a", "b"], {"a": recorded, "b": recorded}, workers=2)
        assert got == tables.Estimate(wall_seconds=5.0, cpu_seconds=3.0, measured_tasks=2, tasks=2)


def test_unmeasured_tasks_cost_their_tests_and_the_mean_of_what_others_cost_beyond_theirs():
    """Two tasks that took half a second more than their tests make a third take half a second more than its own."""
    recorded = {"a": known(suite=1.0, cpu=1.0), "b": known(suite=2.0, cpu=1.0), "c": known(9.0, suite=4.0, cpu=3.0)}
    rows = {"a": measured("a", 1.4, 1.5), "b": measured("b", 2.6, 1.5)}
    got = tables.estimate(rows, ["a", "b", "c"], recorded, workers=1)
    assert got.wall_seconds == pytest.approx(1.4 + 2.6 + 4.5)
    assert got.cpu_seconds == pytest.approx(1.5 + 1.5 + 3.5)
    assert (got.measured_tasks, got.tasks) == (2, 3)


def test_a_measured_timeout_makes_no_other_task_slower():
    """A check that hung is counted itself, and is left out of the mean."""
    recorded = {name: known(suite=1.0) for name in "abc"}
    rows = {"a": measured("a", 1.5), "b": measured("b", 242.0, status="timeout")}
    got = tables.estimate(rows, ["a", "b", "c"], recorded, workers=1)
    assert got.wall_seconds == pytest.approx(1.5 + 242.0 + 1.5)


def test_timeouts_are_taken_out_by_what_was_measured_before_what_was_recorded():
    """A task that hung in the past and passed now stays; one that was not measured goes by its record."""
    recorded = {"a": known(status="timeout"), "b": known(), "c": known(status="timeout"), "d": known()}
    rows = {"a": measured("a", 1.0), "b": measured("b", 242.0, status="timeout")}
    assert tables.without_timeouts(rows, ["a", "b", "c", "d"], recorded) == ({"a": rows["a"]}, ["a", "d"])


def test_the_floor_is_the_work_or_the_longest_test_as_the_quickest_run_had_it():
    """A pass that was slowed down by others does not raise the floor that it is held against."""
    quick = {"rows": [measured("a", 1, 4.0, test_seconds=5.0, test_cpu_seconds=None)]}
    slow = {"rows": [measured("a", 1, 6.0, test_seconds=50.0, test_cpu_seconds=None)]}
    assert tables.floor_seconds([slow, quick], ["a"], 2) == 5.0
    assert tables.floor_seconds([slow], ["a"], 2) == 50.0
    many = {"rows": [measured(str(n), 1, 9.0, test_seconds=2.0, test_cpu_seconds=3.0) for n in range(10)]}
    assert tables.floor_seconds([many], list(map(str, range(10))), 2) == 15.0


def test_the_tests_own_cpu_is_taken_only_when_every_verdict_tells_it():
    """A mixture would add up two different things."""
    timed, untimed = (measured("a", 1, 2.0, test_cpu_seconds=seconds) for seconds in (0.5, None))
    assert tables.suite_cpu([timed, timed]) == (1.0, True)
    assert tables.suite_cpu([timed, untimed]) == (4.0, False)


def test_the_median_ratio_is_over_tasks_that_passed_on_both_sides():
    """Tasks of one side only and failures are no part of it, and nothing in common is no number."""
    theirs = {name: measured(name, wall) for name, wall in (("a", 2.0), ("b", 9.0), ("c", 8.0), ("x", 1e9))}
    ours = {name: measured(name, 1.0) for name in "abcy"}
    failed = {name: measured(name, 1e-9, status="tampered") for name in "de"}
    assert tables.median_ratio(theirs | {name: measured(name, 1.0) for name in "de"}, ours | failed) == 8.0
    assert math.isnan(tables.median_ratio(theirs, {}))


def test_verdicts_differ_where_one_side_passed_alone():
    """Two kinds of failure agree: the original knows no finer ones."""
    theirs = {"a": measured("a", 1, status="timeout"), "b": measured("b", 1, status="pass")}
    ours = {"a": measured("a", 1, status="crash"), "b": measured("b", 1, status="fail")}
    assert tables.differing(theirs, ours) == ["b: pass, fail"]


def test_goals_say_whether_they_are_met_in_their_direction():
    """At least and at most are not confused, and a bound that is just reached is met."""
    assert [tables.Goal(found, "wall", 7.0, at_least=True).cells()[-1] for found in (7.0, 6.9)] == ["yes", "no"]
    assert [tables.Goal(found, "floor", 1.2, at_least=False).cells()[-1] for found in (1.2, 1.3)] == ["yes", "no"]


def test_changed_verdicts_under_load_are_named():
    """The report of a loaded run counts and lists what came out differently."""
    runs = [
        {"name": name, "wall_seconds": 1.0, "cpu_seconds": 1.0, "rows": [measured("a", 1), measured("b", 1, status=b)]}
        for name, b in (("idle", "pass"), ("loaded", "timeout"))
    ]
    report = tables.load_report(*runs)
    assert "1 of 2 verdicts differ" in report
    assert "- b: pass idle, timeout loaded" in report
