"""The calibration script: its guesses for tasks that were taken away, its simulations, and its tables."""

import numpy as np
from recommend import errors_table, few, simulation, simulations_table

from bigcodeflow.studies.recommend.pooling import Outcomes

LIBRARIES = [frozenset({name}) for name in ("a", "b", "c") for _ in range(40)]


def test_a_guess_from_all_tasks_is_right_where_libraries_are_alike():
    """Pooling errs less than five tasks alone, whose error is that of so small a sample."""
    generator = np.random.default_rng(0)
    shares = (generator.random((3, len(LIBRARIES))) < np.array([[0.2], [0.5], [0.8]])).astype(float)
    outcomes = Outcomes(list("xyz"), [f"T/{n}" for n in range(len(LIBRARIES))], shares, LIBRARIES)
    rows = [few(outcomes, "b", seed) for seed in range(10)]
    pooled, own = (np.mean([np.square(getattr(row, name)) for row in rows]) for name in ("pooled", "own"))
    assert pooled < own / 2
    assert np.mean([row.held for row in rows]) > 0.8
    text = errors_table({"b": rows}).to_markdown()
    assert f"| b | {100 * pooled**0.5:.1f} | {100 * own**0.5:.1f} |" in text


def test_simulated_models_are_ranked_and_shown():
    """The best is named more often than by chance, and intervals hold most true rates."""
    found = [simulation(LIBRARIES, 2, seed) for seed in range(3)]
    assert np.mean([one.within for one in found]) > 0.7
    assert np.mean([one.hits for one in found]) >= 0.5
    assert all(0.5 <= one.stated <= 1 for one in found)
    assert f"| 2 | {100 * np.mean([one.within for one in found]):.1f} ±" in simulations_table({2: found}).to_markdown()
