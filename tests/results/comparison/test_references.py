"""The same numbers as the field's statistics packages, where these are installed."""

import random
import warnings

import numpy as np
import pytest
from scipy import optimize, stats

from bigcodeflow.results.comparison.bradley_terry import matches_of, ratings, strengths_of
from bigcodeflow.results.comparison.paired_tests import holm, mcnemar, mean_interval, sign_flip_p


def _package(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their own use of one another is not ours to mend
        return pytest.importorskip(name)


def _seeded(examples):
    return [random.Random(seed) for seed in range(examples)]


def test_mcnemar_agrees_with_scipy():
    """The exact p-value of 200 tables equals SciPy's binomial test, the mid-p-value its sum of binomial terms."""
    for generator in _seeded(200):
        first, second = generator.randint(0, 60), generator.randint(1, 60)
        assert mcnemar(first, second) == pytest.approx(stats.binomtest(first, first + second).pvalue, rel=1e-9)
        mid = 2 * stats.binom.cdf(min(first, second), first + second, 0.5) - stats.binom.pmf(first, first + second, 0.5)
        assert mcnemar(first, second, mid_p=True) == pytest.approx(min(1, mid), rel=1e-9)


@pytest.mark.slow  # importing statsmodels takes longer than all of this file
def test_mcnemar_and_holm_agree_with_statsmodels():
    """Exact p-values equal mcnemar's on 200 tables; adjusted ones multipletests' on 15 lists, ties included."""
    contingency, multitest = map(_package, ("statsmodels.stats.contingency_tables", "statsmodels.stats.multitest"))
    for generator in _seeded(200):
        first, second = generator.randint(0, 60), generator.randint(1, 60)
        table = [[10, first], [second, 20]]
        assert mcnemar(first, second) == pytest.approx(contingency.mcnemar(table, exact=True).pvalue, rel=1e-9)
    for generator in _seeded(15):
        p_values = [round(generator.random() ** 3, 2) for _ in range(generator.randint(1, 200))]
        expected = multitest.multipletests(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(list(expected), abs=1e-12)


def test_strengths_agree_with_choix():
    """Maximum likelihood from choix, by its own algorithm, gives the same strengths on random win matrices."""
    choix = _package("choix")
    for generator in _seeded(30):
        size = generator.randint(2, 8)
        wins = np.array([[generator.randint(1, 30) if a != b else 0 for b in range(size)] for a in range(size)], float)
        expected = choix.ilsr_pairwise_dense(wins, alpha=0.0, tol=1e-12, max_iter=10_000)
        assert strengths_of(wins[np.newaxis])[0] == pytest.approx(list(expected - expected.mean()), abs=1e-6)


def test_the_papers_ratings_come_from_a_win_matrix():
    """The logistic regression of the arena's method (base 10, scale 400, from 1000, ties excluded): within 1 point."""
    for generator in _seeded(5):
        skills = [generator.uniform(0.2, 0.7) for _ in range(6)]
        scores = [[float(generator.random() < skill) for _ in range(148)] for skill in skills]
        passed = np.array(scores)
        wins = passed @ (1 - passed).T  # wins[a, b]: tasks that a solves and b does not
        assert (wins + wins.T)[~np.eye(6, dtype=bool)].all()

        def loss(elo, wins=wins):
            return float((wins * np.log1p(10.0 ** ((elo[None, :] - elo[:, None]) / 400))).sum())

        theirs = optimize.minimize(loss, np.full(6, 1000.0), options={"gtol": 1e-6}).x
        theirs += 1000.0 - theirs.mean()
        ours = [row.rating for row in ratings(matches_of(scores, rounds=2), ties="excluded").rows]
        assert ours == pytest.approx(list(theirs), abs=1.0)


@pytest.mark.slow
def test_intervals_agree_with_scipys_bootstrap():
    """On 500 tasks the interval is SciPy's percentile interval but for the two added tasks: within a tenth of it."""
    for generator in _seeded(3):
        differences = [generator.choice([-0.4, -0.1, 0.0, 0.0, 0.2, 0.5]) for _ in range(500)]
        ends = mean_interval(differences, seed=1)
        how = {"n_resamples": 9999, "method": "percentile", "rng": np.random.default_rng(1)}
        theirs = stats.bootstrap((np.array(differences),), np.mean, **how).confidence_interval
        width = theirs.high - theirs.low
        assert abs(ends.low - theirs.low) < 0.1 * width
        assert abs(ends.high - theirs.high) < 0.1 * width


def test_sign_flips_agree_with_scipys_permutation_test():
    """The p of shares over 40 tasks equals SciPy's paired permutation test within the noise of both."""
    for generator in _seeded(3):
        differences = [generator.choice([-0.4, -0.1, 0.0, 0.2, 0.5]) for _ in range(40)]
        how = {"permutation_type": "samples", "n_resamples": 9999, "rng": np.random.default_rng(1)}
        both = (np.array(differences), np.zeros(40))
        theirs = stats.permutation_test(both, lambda a, b: float(np.mean(a - b)), **how).pvalue
        assert sign_flip_p(differences, seed=2) == pytest.approx(theirs, abs=0.025)
