"""The bootstrap and the sign-flip test against what they estimate."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bigcodeflow.results.comparison.paired_tests import (
    bootstrap_sums,
    difference_intervals,
    mcnemar,
    mean_interval,
    paired_interval,
    score_interval,
    sign_flip_p,
    sign_flip_ps,
)

signs = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=60)
quick = settings(max_examples=30, deadline=None)


@pytest.mark.parametrize(("rows", "rounds"), [(3, 5), (7, 2), (1500, 1500)])
def test_a_seed_always_gives_the_same_draws(rows, rounds):
    """Draws are the generator's 32-bit words in sequence, however the work is cut, so no library's version changes them."""
    column = [float(row * row) for row in range(rows)]
    generator = random.Random(11)
    expected = [sum(column[generator.getrandbits(32) * rows >> 32] for _ in range(rows)) for _ in range(rounds)]
    assert bootstrap_sums([column], rounds=rounds, seed=11)[0].tolist() == expected


@given(signs, st.integers(0, 99))
@quick
def test_an_interval_holds_its_mean_and_stays_in_range(differences, seed):
    """Ends lie in -1..1 and on both compared of the observed mean, also when all tasks favour one model."""
    low, high = mean_interval(differences, rounds=400, seed=seed)
    mean = math.fsum(differences) / len(differences)
    assert -1 <= low <= mean <= high <= 1
    assert low < high


def test_differences_of_single_samples_have_the_interval_of_comparisons():
    """Tango's; others have the bootstrap's."""
    single = [1.0] * 9 + [-1.0] * 2 + [0.0] * 30
    assert paired_interval(single) == score_interval(9, 2, 41)
    assert paired_interval([*single, 0.5]) == mean_interval([*single, 0.5])


def test_four_tasks_that_all_favour_one_model_prove_nothing():
    """The interval holds 0 where McNemar's p is 0.125; a bootstrap without the added tasks would exclude it. 40 prove it."""
    low, high = mean_interval([1.0] * 4 + [0.0] * 996)
    assert mcnemar(4, 0) == 0.125
    assert low <= 0 < high
    assert mean_interval([1.0] * 40 + [0.0] * 960).low > 0


@given(st.lists(st.sampled_from([-0.6, -0.2, 0.0, 0.2, 0.5]), min_size=1, max_size=9), st.integers(0, 99))
@quick
def test_sign_flips_estimate_the_exact_permutation_p(differences, seed):
    """p lies within four standard errors of the share of all 2^n sign patterns as far from 0."""
    observed = abs(math.fsum(differences)) - 1e-9
    patterns = itertools.product((1, -1), repeat=len(differences))
    flipped = [abs(math.fsum(s * d for s, d in zip(pattern, differences, strict=True))) for pattern in patterns]
    exact = sum(total >= observed for total in flipped) / len(flipped)
    error = math.sqrt(exact * (1 - exact) / 4000)
    assert abs(sign_flip_p(differences, rounds=4000, seed=seed) - exact) <= 4.5 * error + 1 / 4001


def test_p_is_never_zero():
    """However clear the difference, p is at least one round of them all; without any difference it is 1."""
    assert [sign_flip_p([value] * 50, rounds=999) for value in (1.0, 0.0)] == [1 / 1000, 1.0]


def test_pairs_share_their_draws_and_lose_nothing():
    """Each pair of three models has the interval and the p that it has alone, up to rounding."""
    scores = [[one / 4 for one in line] for line in ([4, 3, 0, 2, 1, 4], [0, 4, 1, 2, 2, 1], [4, 4, 4, 0, 3, 4])]
    pairs = [(0, 1), (0, 2), (1, 2)]
    intervals = difference_intervals(scores, pairs, rounds=300, seed=3)
    ps = sign_flip_ps(scores, pairs, rounds=300, seed=3)
    for (first, second), interval, p in zip(pairs, intervals, ps, strict=True):
        alone = [a - b for a, b in zip(scores[first], scores[second], strict=True)]
        assert interval == pytest.approx(mean_interval(alone, rounds=300, seed=3), abs=1e-12)
        assert p == sign_flip_p(alone, rounds=300, seed=3)


@pytest.mark.slow
def test_nineteen_of_twenty_intervals_hold_the_true_difference():
    """Of 1,000 draws of 148 tasks each from two models 4 points apart, 93.5 to 97.5 % hold the truth."""
    generator, held, n_tasks = random.Random(5), 0, 148
    chances = (0.54, 0.46)  # on a middling task; half of the tasks are certain for both, as many of the benchmark's are
    for seed in range(1_000):
        differences = []
        for task in range(n_tasks):
            passed = [generator.random() < chance for chance in chances] if task % 2 else [True, True]
            differences.append(float(passed[0]) - float(passed[1]))
        interval = mean_interval(differences, rounds=500, seed=seed)
        held += interval.low <= 0.5 * (chances[0] - chances[1]) <= interval.high
    assert 0.935 <= held / 1_000 <= 0.975


@pytest.mark.slow
def test_intervals_agree_with_scipys_bootstrap():
    """On 500 tasks the interval is SciPy's percentile interval but for the two added tasks: within a tenth of it."""
    for generator in map(random.Random, range(3)):
        differences = [generator.choice([-0.4, -0.1, 0.0, 0.0, 0.2, 0.5]) for _ in range(500)]
        ends = mean_interval(differences, seed=1)
        how = {"n_resamples": 9999, "method": "percentile", "rng": np.random.default_rng(1)}
        theirs = stats.bootstrap((np.array(differences),), np.mean, **how).confidence_interval
        width = theirs.high - theirs.low
        assert abs(ends.low - theirs.low) < 0.1 * width
        assert abs(ends.high - theirs.high) < 0.1 * width
