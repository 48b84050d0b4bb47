"""The bootstrap and the sign-flip test against what they estimate."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_sums_have_the_mean_and_spread_of_drawing_with_replacement():
    """Over 20,000 rounds mean and variance are those of n independent draws, within four standard errors."""
    column = [0.0, 1.0, 1.0, 5.0, -2.0]
    [sums] = bootstrap_sums([column], rounds=20_000, seed=7)
    mean = math.fsum(sums) / len(sums)
    variance = math.fsum((one - mean) ** 2 for one in sums) / (len(sums) - 1)
    each = math.fsum((value - 1.0) ** 2 for value in column) / 5
    assert abs(mean - 5.0) < 4 * math.sqrt(5 * each / 20_000)
    assert variance == pytest.approx(5 * each, rel=0.06)


@given(st.integers(0, 2**40), st.integers(1, 9))
@quick
def test_columns_see_the_same_draws(seed, rounds):
    """A column that is twice another one has twice its sums in every round."""
    first, second = bootstrap_sums([[1.0, 2.0, 4.0], [2.0, 4.0, 8.0]], rounds=rounds, seed=seed)
    assert (second == 2 * first).all()
    assert len(first) == rounds


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


@given(signs)
@quick
def test_exchanging_the_models_turns_the_interval_round(differences):
    """The interval of the negated differences is the negated one, up to the bootstrap's own noise."""
    low, high = mean_interval(differences, rounds=4000, seed=1)
    other_low, other_high = mean_interval([-value for value in differences], rounds=4000, seed=1)
    noise = 0.1 * (high - low) + 1.01 / (len(differences) + 2)  # sums are whole numbers
    assert abs(low + other_high) < noise
    assert abs(high + other_low) < noise


def test_differences_of_single_samples_have_the_interval_of_comparisons():
    """Tango's; others have the bootstrap's."""
    single = [1.0] * 9 + [-1.0] * 2 + [0.0] * 30
    assert paired_interval(single) == score_interval(9, 2, 41)
    assert paired_interval([*single, 0.5]) == mean_interval([*single, 0.5])


def test_four_tasks_that_all_favour_one_model_prove_nothing():
    """The interval holds 0 where McNemar's p is 0.125; a bootstrap without the added tasks would exclude it."""
    low, high = mean_interval([1.0] * 4 + [0.0] * 996)
    assert mcnemar(4, 0) == 0.125
    assert low <= 0 < high


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(6, 0), (9, 1), (40, 15), (200, 140)])
def test_interval_and_test_agree_on_what_is_significant(first, second):
    """Where McNemar's p is below 0.05 by a margin the interval excludes 0, and the other way round."""
    rest = [0.0] * 500
    assert mcnemar(first, second) < 0.05
    assert mean_interval([1.0] * first + [-1.0] * second + rest).low > 0
    assert mcnemar(second + 2, second) > 0.05
    assert mean_interval([1.0] * (second + 2) + [-1.0] * second + rest).low <= 0


def test_equal_models_have_an_interval_with_width():
    """No discordant task among 100: the difference may still be about two tasks either way."""
    low, high = mean_interval([0.0] * 100)
    assert low == pytest.approx(-high, abs=0.011)
    assert 0.01 < high < 0.06


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


def test_sign_flips_of_one_sample_a_task_agree_with_mcnemar():
    """With differences of 0 and 1 both tests ask the same question."""
    p = sign_flip_p([1.0] * 20 + [-1.0] * 9 + [0.0] * 100, rounds=20_000)
    assert p == pytest.approx(mcnemar(20, 9), abs=0.007)


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
