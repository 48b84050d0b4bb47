"""McNemar, Holm and Tango's interval against exact arithmetic, their definitions, and each other."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from bigcodeflow.results.comparison.paired_tests import holm, mcnemar, score_interval
from bigcodeflow.results.statistics import Z_95
from tests.examples import examples

few = st.integers(0, 60)
quick = settings(max_examples=examples(60), deadline=None)


def _tails(first, second):
    """2 P(X <= min) in exact arithmetic, X the heads of fair coins."""
    tosses = first + second
    return 2 * sum(Fraction(math.comb(tosses, heads), 2**tosses) for heads in range(min(first, second) + 1))


@given(few, few)
def test_mcnemar_is_the_exact_binomial_tail(first, second):
    """p agrees with exact fractions to the last digit."""
    assert mcnemar(first, second) == pytest.approx(float(min(Fraction(1), _tails(first, second))), rel=1e-15)


@given(few, few)
def test_mid_p_takes_half_of_the_observed_split(first, second):
    """Mid-p is the exact tail less the probability of the observed split, and never above 1."""
    expected = _tails(first, second) - Fraction(math.comb(first + second, first), 2 ** (first + second))
    assert mcnemar(first, second, mid_p=True) == pytest.approx(float(min(Fraction(1), expected)), rel=1e-15)


def test_thousand_tasks_that_all_favour_one_model():
    """No overflow: 1,140 tasks to none give 2^-1139, which floating point can still tell from 0; mid-p half of it."""
    assert mcnemar(1000, 0) == 2.0**-999
    assert mcnemar(0, 1000, mid_p=True) == 2.0**-1000


@given(st.lists(st.floats(0, 1), max_size=8))
@settings(deadline=None)
def test_holm_is_the_closed_bonferroni_test(p_values):
    """Each adjusted p is the largest Bonferroni p of all sets of hypotheses that hold it: the definition by closure."""
    adjusted = holm(p_values)
    for place in range(len(p_values)):
        others = [other for other in range(len(p_values)) if other != place]
        sets = ((place, *chosen) for size in range(len(p_values)) for chosen in itertools.combinations(others, size))
        closed = max(min(1.0, len(chosen) * min(p_values[one] for one in chosen)) for chosen in sets)
        assert adjusted[place] == pytest.approx(closed, abs=1e-12)


@st.composite
def counts(draw, most=400):
    n_tasks = draw(st.integers(1, most))
    only_first = draw(st.integers(0, n_tasks))
    return only_first, draw(st.integers(0, n_tasks - only_first)), n_tasks


def _score(difference, only_first, only_second, n_tasks):
    """The standardised distance from a difference, its nuisance share found by a search for the largest likelihood."""
    both = n_tasks - only_first - only_second

    def unlikely(second):
        shares = (second + difference, second, 1 - 2 * second - difference)
        return -sum(
            n * math.log(max(one, 1e-300)) for n, one in zip((only_first, only_second, both), shares, strict=True)
        )

    bounds = (max(0.0, -difference), (1 - difference) / 2)
    second = optimize.minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    return (only_first - only_second - n_tasks * difference) / math.sqrt(
        n_tasks * (2 * second + difference * (1 - difference))
    )


@given(counts(most=200))
@quick
def test_both_ends_lie_at_the_score_of_the_level(given_counts):
    """At each end within -1..1 the score with SciPy's constrained maximum of the likelihood is the normal quantile."""
    low, high = score_interval(*given_counts)
    for end, score in ((low, Z_95), (high, -Z_95)):
        if abs(end) < 1 - 1e-6:
            assert _score(end, *given_counts) == pytest.approx(score, abs=2e-3)


def test_published_example():
    """Airway reactivity of 21 children (Bentur 2009): -0.517 to -0.026 in Fagerland, Lydersen and Laake 2014."""
    assert score_interval(1, 7, 21) == pytest.approx((-0.517, -0.026), abs=5e-4)


@given(counts())
def test_the_interval_holds_the_difference_stays_in_range_and_turns_round(given_counts):
    """Ends lie in -1..1 about the observed difference, apart from one another; exchanged models exchange the ends."""
    only_first, only_second, n_tasks = given_counts
    low, high = score_interval(*given_counts)
    assert -1 <= low <= (only_first - only_second) / n_tasks <= high <= 1
    assert low < high
    assert score_interval(only_second, only_first, n_tasks) == (-high, -low)


@pytest.mark.parametrize("wrong", [(-1, 0, 5), (3, 3, 5), (0, 0, 0)])
def test_counts_that_cannot_be_are_refused(wrong):
    """More tasks than there are, fewer than none, and none at all."""
    with pytest.raises(ValueError, match="score interval: only_first"):
        score_interval(*wrong)
    with pytest.raises(ValueError, match="only_first = -1, only_second = 3"):
        mcnemar(-1, 3)


@pytest.mark.parametrize(
    ("n_tasks", "first", "second"),
    [(40, 0.183, 0.1227), (40, 0.1514, 0.1514), (40, 0.063, 0.0382), (148, 0.183, 0.1227), (148, 0.063, 0.0382)],
)
def test_nineteen_of_twenty_intervals_hold_the_truth(n_tasks, first, second):
    """Over all tables, each with its chance, 94 to 96 % hold the difference: the populations of the benchmark."""
    held = total = 0.0
    for only_first in range(n_tasks + 1):
        for only_second in range(n_tasks - only_first + 1):
            chance = _chance(n_tasks, (only_first, first), (only_second, second))
            if chance > 1e-7:
                low, high = score_interval(only_first, only_second, n_tasks)
                held += chance * (low <= first - second <= high)
                total += chance
    assert 0.94 <= held / total <= 0.96


def _chance(n_tasks, *parts):
    """Of a table of a trinomial distribution."""
    rest = n_tasks - sum(count for count, _ in parts), 1 - sum(share for _, share in parts)
    logs = (count * math.log(share) - math.lgamma(count + 1) for count, share in (*parts, rest))
    return math.exp(math.lgamma(n_tasks + 1) + math.fsum(logs))
