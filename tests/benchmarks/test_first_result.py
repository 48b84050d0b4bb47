"""Which side is measured when, what a chain is, and when a goal is met."""

import argparse

import first_result
from evaluations import longest_chain

IDS = {"hard": ("T/1",), "full": ("T/1", "T/2")}


def units(name, **more):
    given = {"workers": 2, "time_seconds": 240.0, "samples": 2, "turns": 2, "original": True} | more
    return first_result.plan(name, IDS, argparse.Namespace(**given))


def test_the_sides_alternate_and_the_second_turn_begins_with_the_other():
    """What else the machine does falls on both sides; only the first result executes the original's ground truths."""
    sides = [unit.side for unit in units("hard")]
    assert sides == ["fresh", "original fresh", "original fresh", "fresh"]
    assert [unit.side for unit in units("further", turns=1)] == ["first", "original"]
    assert [unit.side for unit in units("full")] == ["first", "again", "first", "again"]
    assert len({unit.key for unit in units("hard")}) == 4


def test_copies_make_as_many_samples_as_asked_for():
    """Nothing is checked where CPU beyond the tests is measured."""
    [unit] = units("beyond", samples=20, turns=1)
    assert (unit.copies, unit.settings) == (10, ("execution.integrity=off",))


def row(task_id, wall, tests, integrity=None):
    tests = [{"seconds": seconds} for seconds in tests]
    return {"task_id": task_id, "wall_seconds": wall, "tests": tests, "integrity": integrity}


def test_the_chain_is_what_waits_for_each_other_of_one_task():
    """A check's tests take at most their budget: two seconds, or a quarter of the reference solution's time."""
    truths = [row("T/1", 101.0, [40.0, 60.0]), row("T/2", 120.0, [119.0])]
    samples = [row("T/1", 81.0, [40.0, 40.0], "checked"), row("T/2", 1.0, [0.5])]
    assert longest_chain(samples, truths, counts_truths=True) == 101 + (1 + 25)
    assert longest_chain(samples, truths, counts_truths=False) == 81 + (1 + 25)


def test_a_goal_is_met_or_not():
    """The median over the turns decides, and the bound of a further model is its longest chain where that is longer."""

    def run(side, wall, chain=0.0):
        figures = {"wall_seconds": wall, "cpu_seconds": 1.0, "chain_seconds": chain, "rows": [{}]}
        return {"side": side, **figures}

    runs = [run("first", 90.0, 100.0), run("first", 100.0, 100.0), run("first", 300.0, 100.0), run("original", 200.0)]
    assert [goal.cells for goal in first_result.goals_of("further", runs, 2)] == [
        ("further: wall, s", "100.00", "≤ 110.00", "yes"),
        ("further: the original's wall, times", "2.00", "≥ 2.50", "no"),
    ]
