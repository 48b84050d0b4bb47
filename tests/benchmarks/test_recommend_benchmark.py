"""The calibration script: where truths lie in predictions, and its tables."""

import numpy as np
import pytest
from recommend import Unit, _ranks, few, fold, simulated, single, tables


def test_truths_of_a_right_prediction_lie_evenly():
    """Also of shares of few tasks, which are equal to many draws: half of them in the middle half, within 3 errors."""
    generator = np.random.default_rng(0)
    places = []
    for _ in range(600):
        predicted = generator.binomial(3, 0.3, (400, 1)) / 3
        places += _ranks(predicted, generator.binomial(3, 0.3, 1) / 3, generator)
    assert np.mean([abs(one - 0.5) <= 0.25 for one in places]) == pytest.approx(0.5, abs=0.06)


@pytest.mark.slow
def test_held_out_tasks_are_predicted_and_shown():
    """A fold and a library of five known tasks, on outcomes drawn from the model; the tables have a row each."""
    libraries = [frozenset({name}) for name in ("a", "b", "c") for _ in range(40)]
    outcomes, truth_of = simulated(libraries, 3, seed=1)
    assert all(0 < rate < 1 for rate in truth_of("a").values())
    found = [fold(outcomes, 0, 0), few(outcomes, "b", 0), single(outcomes, 7)]
    assert len(found[2]["chances"]) == 6 * 3
    assert all(0 < chance < 1 for chance in found[2]["chances"])
    assert set(found[2]["passed"]) <= {0.0, 1.0}
    assert len(found[0]["models"]) == 9
    assert all(0 <= one <= 1 for part in found[:2] for one in part["models"] + part["differences"])
    simulation = {"within": 0.95, "hits": 0.7, "stated": 0.6, "seconds": 1.0, "deviations": [2.5, 0.7, 0.4, 0.3]}
    units = [Unit("folds", "0", 0), Unit("few", "b", 0), Unit("single", "7", 0), Unit("simulated", "8", 0)]
    text = "\n".join(table.to_markdown() for table in tables(units, [*found, simulation]))
    for part in ("| recommend | 0.", "folds: models", "few: differences", "| b |", "| 8 | 95.0"):
        assert part in text
