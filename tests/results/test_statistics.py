"""Scores and their uncertainty, against exact arithmetic and against the definition."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bigcodeflow.results.statistics import (
    bayes_at_n,
    clustered_interval,
    estimate,
    g_pass_at_k,
    mg_pass_at_k,
    pass_at_k,
    pass_hat_k,
    standard_error,
)

shares = st.floats(0, 1)
some_scores = st.lists(shares, min_size=1, max_size=60)


@st.composite
def counts(draw, most=400):
    n_samples = draw(st.integers(1, most))
    return n_samples, draw(st.integers(0, n_samples)), draw(st.integers(1, n_samples))


@given(counts())
def test_pass_at_k_equals_the_exact_fraction(given_counts):
    """The product form agrees with 1 - C(n-c, k) / C(n, k) in exact arithmetic to 1e-12."""
    n_samples, n_passed, k = given_counts
    exact = 1 - Fraction(math.comb(n_samples - n_passed, k), math.comb(n_samples, k))
    assert abs(Fraction(pass_at_k(n_samples, n_passed, k)) - exact) < Fraction(1, 10**12)
    assert pass_at_k(n_samples, n_passed, 1) == pytest.approx(n_passed / n_samples, abs=1e-12)


@given(counts(most=8), st.fractions(0, 1, max_denominator=20).filter(bool))
def test_metrics_of_k_draws_are_means_over_all_draws(given_counts, threshold):
    """pass@k, pass^k, G-Pass@k and mG-Pass@k are what all ways to draw k of the samples give on average."""
    n_samples, n_passed, k = given_counts
    passes = [sum(draw) for draw in itertools.combinations([1] * n_passed + [0] * (n_samples - n_passed), k)]

    def share(fewest):
        return Fraction(sum(count >= fewest for count in passes), len(passes))

    assert pass_at_k(*given_counts) == pytest.approx(float(share(1)), abs=1e-12)
    assert pass_hat_k(*given_counts) == float(share(k))
    assert g_pass_at_k(*given_counts, float(threshold)) == float(share(threshold * k))
    above = sum((share(count) for count in range(math.ceil(Fraction(k, 2)) + 1, k + 1)), Fraction(0))
    assert mg_pass_at_k(*given_counts) == pytest.approx(float(Fraction(2, k) * above), abs=1e-15)


def test_a_threshold_in_binary_is_not_rounded_up():
    """0.56 of 25 are 14 passes, although 0.56 * 25 exceeds 14 in floating point."""
    assert 0.56 * 25 > 14
    assert g_pass_at_k(25, 14, 25, 0.56) == 1.0


@pytest.mark.parametrize("threshold", [0.0, 1.01, math.nan])
def test_a_threshold_outside_0_to_1_is_refused(threshold):
    """A threshold that no share can reach, or that every draw reaches, is an error."""
    with pytest.raises(ValueError, match="needs 0 < threshold <= 1"):
        g_pass_at_k(10, 5, 5, threshold)


@given(st.integers(0, 20), st.integers(1, 20))
def test_fewer_samples_than_k_have_no_score(n_samples, more):
    """n < k gives NaN even when every sample passes, never 1.0."""
    for score in (pass_at_k, pass_hat_k, mg_pass_at_k):
        assert math.isnan(score(n_samples, n_samples, n_samples + more))


@pytest.mark.parametrize(("n_samples", "n_passed", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n_samples, n_passed, k):
    """Counts that no task can have raise an error that repeats them."""
    for score in (pass_at_k, pass_hat_k, mg_pass_at_k):
        with pytest.raises(ValueError, match=f"k is {k}, {n_passed} of {n_samples} samples passed"):
            score(n_samples, n_passed, k)


@pytest.mark.slow  # importing statsmodels takes longer than all other tests of the file
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_one_sample_a_task_gives_agresti_and_coulls_interval(passed_of):
    """Zeros and ones give statsmodels' interval of that share, at the confidence where z is Student's t."""
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    passed, n_tasks = passed_of
    alpha = 2 * stats.norm.sf(stats.t.ppf(0.975, max(1, n_tasks - 1)))
    theirs = proportion.proportion_confint(passed, n_tasks, alpha=alpha, method="agresti_coull")
    ours = clustered_interval([1.0] * passed + [0.0] * (n_tasks - passed))
    assert ours == pytest.approx([min(1, max(0, end)) for end in theirs], abs=1e-9)


@pytest.mark.slow
@given(st.lists(shares, min_size=2, max_size=60))
def test_several_samples_a_task_give_it_for_the_effective_number_of_tasks(scores):
    """Shares give statsmodels' interval for n / d tasks, d from NumPy's variances with one task more in both."""
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    mean, n_tasks = np.mean(scores), len(scores)
    unseen = stats.uniform.var() + (stats.uniform.mean() - mean) ** 2
    effect = (n_tasks * np.var(scores) + unseen) / (n_tasks * mean * (1 - mean) + unseen)
    alpha = 2 * stats.norm.sf(stats.t.ppf(0.975, n_tasks - 1))
    size = n_tasks / min(1, effect)
    theirs = proportion.proportion_confint(mean * size, size, alpha=alpha, method="agresti_coull")
    assert clustered_interval(scores) == pytest.approx([min(1, max(0, end)) for end in theirs], abs=1e-7)


@given(some_scores)
def test_the_interval_is_a_part_of_0_to_1_that_holds_the_mean(scores):
    """It is never a single point, also where all tasks agree or there is one."""
    low, high = clustered_interval(scores)
    assert 0 <= low <= math.fsum(scores) / len(scores) <= high + 1e-12 <= 1 + 1e-12
    assert low < high


@pytest.mark.slow
@given(st.lists(st.fractions(0, 1, max_denominator=50), min_size=2, max_size=60))
def test_standard_error_equals_exact_arithmetic(scores):
    """The squared standard error agrees with the sample variance over n in exact arithmetic."""
    mean = sum(scores) / len(scores)
    exact = sum((score - mean) ** 2 for score in scores) / (len(scores) - 1) / len(scores)
    assert standard_error([float(score) for score in scores]) ** 2 == pytest.approx(float(exact), abs=1e-12)


def test_samples_of_a_task_are_not_independent_evidence():
    """Ten agreeing samples a task give the standard error of one sample a task, not a smaller one."""
    once = estimate([pass_at_k(1, passed, 1) for passed in (0, 1, 1, 0)])
    tenfold = estimate([pass_at_k(10, passed, 1) for passed in (0, 10, 10, 0)])
    assert once == tenfold
    assert once.standard_error == pytest.approx(math.sqrt(1 / 3 / 4))


@given(st.lists(shares, min_size=1, max_size=60), st.randoms())
def test_the_order_of_tasks_changes_no_digit(scores, random):
    """The mean, its error and interval are bit for bit the same in any order of tasks."""
    shuffled = random.sample(scores, len(scores))
    assert estimate(scores) == estimate(shuffled)


def test_no_task_has_no_value():
    """Without tasks the value is NaN, nothing claims to know its error, and a prior alone becomes no score."""
    for result in (estimate([]), bayes_at_n([])):
        assert math.isnan(result.value)
        assert result[1:] == (None, None, 0)
    assert clustered_interval([]) is None
    assert standard_error([]) is standard_error([0.5]) is None  # one task says nothing about the spread of tasks


@pytest.mark.parametrize(("n_tasks", "least", "most"), [(5, 93, 99.6), (10, 94, 98.6), (27, 94, 97.2), (148, 94, 96)])
def test_one_sample_a_task_holds_every_truth(n_tasks, least, most):
    """Of 500 true shares, the probabilities of all numbers of solved tasks whose interval holds it add up to 94 % or more.

    Their mean is bounded above: where next to no task is solved, one outcome has nearly all of the probability.
    """
    truths = np.linspace(0.001, 0.5, 500)
    held = np.zeros(500)
    for solved in range(n_tasks + 1):
        low, high = clustered_interval([1.0] * solved + [0.0] * (n_tasks - solved))
        held += stats.binom.pmf(solved, n_tasks, truths) * ((low <= truths) & (truths <= high))
    assert 100 * held.min() >= least
    assert 100 * held.mean() <= most


@pytest.mark.slow
@pytest.mark.parametrize(("n_tasks", "least", "most"), [(5, 93, 100), (7, 94, 100), (20, 94, 97.5), (148, 94, 96.5)])
@pytest.mark.parametrize("difficulties", [(0.05, 0.3, 0.6, 0.95), (0.0, 0.0, 0.02, 0.5, 1.0)])
def test_clustered_intervals_hold_the_truth_in_95_percent_of_draws(n_tasks, least, most, difficulties):
    """Ten samples of each task of mixed difficulty, drawn 1,000 times, hold the true score."""
    generator, held = random.Random(2), 0
    truth = sum(difficulties) / len(difficulties)
    for _ in range(1_000):
        chances = generator.choices(difficulties, k=n_tasks)
        scores = [sum(generator.random() < chance for _ in range(10)) / 10 for chance in chances]
        ends = clustered_interval(scores)
        held += ends.low <= truth <= ends.high
    assert least <= held / 10 <= most


@st.composite
def outcomes(draw):
    """Outcomes of several tasks, a row of zeros and ones each, all of one length; and a k."""
    n_samples = draw(st.integers(1, 12))
    row = st.lists(st.integers(0, 1), min_size=n_samples, max_size=n_samples)
    return draw(st.lists(row, min_size=1, max_size=8)), draw(st.integers(1, n_samples))


@pytest.fixture(scope="module")
def scorio():
    """An independent implementation of the metrics."""
    return pytest.importorskip("scorio.eval")


@settings(deadline=None)
@given(given_outcomes=outcomes(), threshold=st.sampled_from([0.25, 0.5, 0.55, 0.75, 1.0]))
def test_several_sample_metrics_equal_scorio(scorio, given_outcomes, threshold):
    """pass^k, G-Pass@k, mG-Pass@k, avg@N and Bayes@N with its interval agree with an independent implementation."""
    rows, k = given_outcomes
    matrix, tasks = np.array(rows), [(len(row), sum(row)) for row in rows]

    def mean(score, *more):
        return math.fsum(score(*task, k, *more) for task in tasks) / len(tasks)

    assert mean(pass_hat_k) == pytest.approx(scorio.pass_hat_k(matrix, k), abs=1e-12)
    assert mean(g_pass_at_k, threshold) == pytest.approx(scorio.g_pass_at_k_tau(matrix, k, threshold), abs=1e-12)
    assert mean(mg_pass_at_k) == pytest.approx(scorio.mg_pass_at_k(matrix, k), abs=1e-12)
    value, error, ends, _ = bayes_at_n(tasks)
    assert (value, error, *ends) == pytest.approx(scorio.bayes_ci(matrix, bounds=(0.0, 1.0)), abs=1e-12)
    shares = [passed / samples for samples, passed in tasks]
    assert estimate(shares).value == pytest.approx(scorio.avg(matrix)[0], abs=1e-12)


def test_tasks_of_bayes_at_n_may_differ_in_samples():
    """Each task has the posterior of its own samples: 1 of 1 has mean 2/3, 0 of 4 has 1/6."""
    value, error, _, n_tasks = bayes_at_n([(1, 1), (4, 0)])
    assert (value, error) == pytest.approx(((2 / 3 + 1 / 6) / 2, math.sqrt(2 / 9 / 4 + 5 / 36 / 7) / 2))
    assert n_tasks == 2
