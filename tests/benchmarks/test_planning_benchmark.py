"""Plans against exact power, simulated power and populations whose variances are known."""

from statistics import fmean

import pytest
from planning import Population, exact_power, found_share, pilot, truth

from bigcodeflow.results.planning import Question, Variances, power, tasks_needed

POPULATION = Population((0.8, 0.0), 1.5, 1.5)


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [0.8, 0.95])
@pytest.mark.parametrize(
    ("difference", "discordant", "above"),
    # Where few tasks decide, nearly all of them one way, the plan is too cautious.
    [(0.03, 0.2, 0.02), (0.06, 0.3, 0.02), (0.12, 0.4, 0.02), (0.1, 0.12, 0.08)],
)
def test_one_sample_a_task_has_the_exact_power_of_mcnemar(difference, discordant, above, wanted):
    """McNemar's exact test over the planned tasks, all outcomes counted, finds the difference as often as promised."""
    question = Question(Variances(0.0, discordant - difference**2), power=wanted)
    n_tasks = tasks_needed(question, difference, 1)
    assert wanted - 0.01 < exact_power(n_tasks, difference, discordant) < wanted + above


@pytest.mark.parametrize("n_samples", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_several_samples_a_task_have_the_power_of_the_sign_flip_test(n_samples):
    """Of 400 drawn comparisons of two models the test finds as many as promised, within 6 points (3 standard errors)."""
    difference, variances = truth(POPULATION, 100_000)
    question = Question(variances)
    n_tasks = tasks_needed(question, difference, n_samples)
    found = found_share(POPULATION, n_tasks, n_samples, repeats=400, rounds=400)
    assert found == pytest.approx(power(question, difference, n_tasks, n_samples), abs=0.06)


@pytest.mark.slow
def test_estimated_variances_are_unbiased():
    """Over 500 drawn pairs of runs with 3 samples of 60 tasks the estimates are right on average."""
    _, true = truth(POPULATION, 100_000)
    found = [pilot(POPULATION, 60, 3, seed) for seed in range(500)]
    assert fmean(one.between for one in found) == pytest.approx(true.between, abs=0.006)  # 3 standard errors
    assert fmean(one.within for one in found) == pytest.approx(true.within, abs=0.004)
