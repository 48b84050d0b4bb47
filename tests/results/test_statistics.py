"""Scores and their uncertainty, against exact arithmetic and against the definition."""

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.results.statistics import (
    clustered_interval,
    estimate,
    normal_interval,
    pass_at_k,
    standard_error,
    student_quantile,
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


@given(counts(most=8))
def test_pass_at_k_is_the_share_of_draws_with_a_pass(given_counts):
    """Of all ways to draw k of the samples, pass@k is the share that holds at least one that passes."""
    n_samples, n_passed, k = given_counts
    draws = list(itertools.combinations([True] * n_passed + [False] * (n_samples - n_passed), k))
    assert pass_at_k(n_samples, n_passed, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)


@given(counts())
def test_pass_at_1_is_the_share_that_passes(given_counts):
    """With k = 1 the estimator is the plain share."""
    n_samples, n_passed, _ = given_counts
    assert pass_at_k(n_samples, n_passed, 1) == pytest.approx(n_passed / n_samples, abs=1e-12)


@given(st.integers(0, 20), st.integers(1, 20))
def test_fewer_samples_than_k_have_no_score(n_samples, more):
    """n < k gives NaN even when every sample passes, never 1.0."""
    assert math.isnan(pass_at_k(n_samples, n_samples, n_samples + more))


@pytest.mark.parametrize(("n_samples", "n_passed", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n_samples, n_passed, k):
    """Counts that no task can have raise an error that repeats them."""
    with pytest.raises(ValueError, match=f"pass@{k} of {n_passed} passed in {n_samples}"):
        pass_at_k(n_samples, n_passed, k)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_one_sample_a_task_gives_agresti_and_coulls_interval(passed_of):
    """Zeros and ones give statsmodels' interval of that share, at the confidence where z is Student's t."""
    stats, proportion = pytest.importorskip("scipy.stats"), pytest.importorskip("statsmodels.stats.proportion")
    passed, n_tasks = passed_of
    alpha = 2 * stats.norm.sf(stats.t.ppf(0.975, max(1, n_tasks - 1)))
    theirs = proportion.proportion_confint(passed, n_tasks, alpha=alpha, method="agresti_coull")
    ours = clustered_interval([1.0] * passed + [0.0] * (n_tasks - passed))
    assert ours == pytest.approx([min(1, max(0, end)) for end in theirs], abs=1e-9)


@given(st.lists(shares, min_size=2, max_size=60))
def test_several_samples_a_task_give_it_for_the_effective_number_of_tasks(scores):
    """Shares give statsmodels' interval for n / d tasks, d from NumPy's variances with one task more in both."""
    numpy = pytest.importorskip("numpy")
    stats, proportion = pytest.importorskip("scipy.stats"), pytest.importorskip("statsmodels.stats.proportion")
    mean, n_tasks = numpy.mean(scores), len(scores)
    unseen = stats.uniform.var() + (stats.uniform.mean() - mean) ** 2
    effect = (n_tasks * numpy.var(scores) + unseen) / (n_tasks * mean * (1 - mean) + unseen)
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


@given(some_scores)
def test_failures_for_passes_turn_the_interval_round(scores):
    """1 - score for each task gives 1 - high and 1 - low."""
    low, high = clustered_interval(scores)
    turned = clustered_interval([1 - score for score in scores])
    assert (turned.high, turned.low) == pytest.approx((1 - low, 1 - high), abs=1e-9)


@given(some_scores)
def test_four_times_the_tasks_narrow_the_interval(scores):
    """The same scores four times lie in a narrower interval."""
    low, high = clustered_interval(scores)
    narrow = clustered_interval(scores * 4)
    assert narrow.high - narrow.low < high - low


@given(some_scores)
def test_shares_are_never_less_certain_than_zeros_and_ones(scores):
    """Rounding each task to solved or not, the mean kept, cannot narrow the interval: the spread is then the greatest."""
    solved = round(sum(scores))
    whole = [1.0] * solved + [0.0] * (len(scores) - solved)
    shares_of_it = [solved / len(scores)] * len(scores)
    narrow, wide = clustered_interval(shares_of_it), clustered_interval(whole)
    assert wide.low <= narrow.low + 1e-12
    assert narrow.high <= wide.high + 1e-12


@pytest.mark.parametrize("n_tasks", [5, 7, 10, 20, 148])
def test_a_solved_task_more_moves_no_end_down(n_tasks):
    """From no solved task to all, both ends rise. With shares the low end may fall: they then spread more."""
    ends = [clustered_interval([1.0] * solved + [0.0] * (n_tasks - solved)) for solved in range(n_tasks + 1)]
    for before, after in itertools.pairwise(ends):
        assert after.low >= before.low
        assert after.high >= before.high


def test_no_task_has_no_interval():
    """Without tasks there is no interval rather than 0 to 1."""
    assert clustered_interval([]) is None


def test_students_quantile_is_scipys():
    """For every number of degrees of freedom; without any it has no bound."""
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1, 2, 4, 9, 39, 1139):
        assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)
    assert student_quantile(0) == math.inf


@given(st.lists(st.fractions(0, 1, max_denominator=50), min_size=2, max_size=60))
def test_standard_error_equals_exact_arithmetic(scores):
    """The squared standard error agrees with the sample variance over n in exact arithmetic."""
    mean = sum(scores) / len(scores)
    exact = sum((score - mean) ** 2 for score in scores) / (len(scores) - 1) / len(scores)
    assert standard_error([float(score) for score in scores]) ** 2 == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("scores", [[], [0.5]])
def test_one_task_has_no_standard_error(scores):
    """A single task says nothing about the spread of tasks."""
    assert standard_error(scores) is None


def test_samples_of_a_task_are_not_independent_evidence():
    """Ten agreeing samples a task give the standard error of one sample a task, not a smaller one."""
    once = estimate([pass_at_k(1, passed, 1) for passed in (0, 1, 1, 0)])
    tenfold = estimate([pass_at_k(10, passed, 1) for passed in (0, 10, 10, 0)])
    assert once == tenfold
    assert once.standard_error == pytest.approx(math.sqrt(1 / 3 / 4))


@given(shares, st.floats(0, 2))
def test_normal_interval_stays_a_share(mean, error):
    """The interval is clipped to 0..1 and holds the mean."""
    low, high = normal_interval(mean, error)
    assert 0 <= low <= mean <= high <= 1


@given(st.lists(shares, min_size=1, max_size=60), st.randoms())
def test_the_order_of_tasks_changes_no_digit(scores, random):
    """The mean, its error and interval are bit for bit the same in any order of tasks."""
    shuffled = random.sample(scores, len(scores))
    assert estimate(scores) == estimate(shuffled)


def test_no_task_has_no_value():
    """Without tasks the value is NaN and nothing claims to know its error."""
    result = estimate([])
    assert math.isnan(result.value)
    assert result[1:] == (None, None, 0)


@pytest.mark.parametrize(("n_tasks", "least", "most"), [(5, 93, 99.6), (10, 94, 98.6), (27, 94, 97.2), (148, 94, 96)])
def test_one_sample_a_task_holds_every_truth(n_tasks, least, most):
    """Of 500 true shares, the probabilities of all numbers of solved tasks whose interval holds it add up to 94 % or more.

    Their mean is bounded above: where next to no task is solved, one outcome has nearly all of the probability.
    """
    stats, numpy = pytest.importorskip("scipy.stats"), pytest.importorskip("numpy")
    truths = numpy.linspace(0.001, 0.5, 500)
    held = numpy.zeros(500)
    for solved in range(n_tasks + 1):
        low, high = clustered_interval([1.0] * solved + [0.0] * (n_tasks - solved))
        held += stats.binom.pmf(solved, n_tasks, truths) * ((low <= truths) & (truths <= high))
    assert 100 * held.min() >= least
    assert 100 * held.mean() <= most


@pytest.mark.parametrize(
    ("n_tasks", "least", "most"), [(5, 0.93, 1), (7, 0.94, 1), (20, 0.94, 0.975), (148, 0.94, 0.965)]
)
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
    assert least <= held / 1_000 <= most
