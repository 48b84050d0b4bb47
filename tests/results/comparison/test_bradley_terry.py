"""Ratings against the equations that a maximum of the likelihood solves, and against matrices made from ratings."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from bigcodeflow.results.comparison.bradley_terry import (
    ANCHOR,
    POINTS,
    have_maximum,
    matches_of,
    ratings,
    strengths_of,
    win_matrices,
)

quick = settings(max_examples=40, deadline=None)


@st.composite
def matrices(draw, least=0):
    size = draw(st.integers(2, 6))
    return [
        [float(draw(st.integers(least, 40))) if row != column else 0.0 for column in range(size)] for row in range(size)
    ]


def fit(wins):
    return strengths_of(np.array([wins], dtype=float))[0]


def rated(scores, *, ties="half", rounds):
    return ratings(matches_of(scores, rounds=rounds), ties=ties)


@given(matrices(least=1))
@quick
def test_expected_wins_equal_the_observed_ones(wins):
    """At the maximum each model is expected to win as often as it did; the likelihood is concave, so this proves it."""
    strengths, wins = fit(wins), np.array(wins)
    chance = 1 / (1 + np.exp(strengths[np.newaxis, :] - strengths[:, np.newaxis]))
    assert ((wins + wins.T) * chance).sum(axis=1) == pytest.approx(wins.sum(axis=1), abs=1e-7)
    assert strengths.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("won", "lost", "apart"), [(10, 1, 400.0), (100, 1, 800.0), (3, 3, 0.0)])
def test_four_hundred_points_are_odds_of_ten_to_one(won, lost, apart):
    """Of two models the difference is 400 log10 of the odds, in closed form."""
    first, second = POINTS * fit([[0, won], [lost, 0]])
    assert first - second == pytest.approx(apart, abs=1e-6)


@given(matrices())
@quick
def test_a_maximum_exists_exactly_where_no_group_is_unbeaten(wins):
    """Finite if and only if no group of models never lost to the rest, found by trying every group."""
    models = set(range(len(wins)))
    groups = itertools.chain.from_iterable(itertools.combinations(models, size) for size in range(1, len(wins)))
    unbeaten = any(not any(wins[rest][member] for member in group for rest in models - set(group)) for group in groups)
    assert have_maximum(np.array([wins]))[0] == (not unbeaten)
    assert np.isfinite(fit(np.array(wins) + 0.5)).all()


def test_a_model_that_wins_everything_has_a_finite_rating():
    """One solves all, one none: ratings are finite, marked, and keep their order, in either reading of ties."""
    for ties, models in (("half", 2), ("excluded", 3)):
        found = rated([[1.0] * 30, [0.0] * 30, [1.0, 0.0] * 15][:models], ties=ties, rounds=20)
        assert [row.rank for row in found.rows] == [1, models, 2][:models]
        assert all(math.isfinite(end) for row in found.rows for end in (row.rating, *row.interval))
        assert (found.regularised, found.regularised_rounds) == (True, True)


def test_half_ties_link_models_that_never_lost():
    """Between the one that solves all and the one that solves none, a third that ties with both makes ratings finite."""
    found = rated([[1.0] * 30, [0.0] * 30, [1.0, 0.0] * 15], ties="half", rounds=20)
    assert [row.rank for row in found.rows] == [1, 3, 2]
    assert (found.regularised, found.regularised_rounds) == (False, False)


def test_equal_models_rate_equally():
    """Two models with the same outcomes share a rank and a rating, and no tie is decisive."""
    for ties in ("half", "excluded"):
        found = rated([[1.0, 0.0, 1.0]] * 2, ties=ties, rounds=10)
        assert [row.rating for row in found.rows] == pytest.approx([1000.0, 1000.0])
        assert [row.rank for row in found.rows] == [1, 1]


def test_ties_are_half_a_win_or_no_match():
    """60 tasks tied, 30 to 10 for the first: 60 to 40 with ties as half, 30 to 10 without; so do shares of samples."""
    first = [1.0] * 60 + [1.0] * 30 + [0.0] * 10
    second = [1.0] * 60 + [0.0] * 30 + [1.0] * 10
    half = rated([first, second], ties="half", rounds=10).rows
    excluded = rated([first, second], ties="excluded", rounds=10).rows
    assert half[0].rating - half[1].rating == pytest.approx(400 * math.log10(60 / 40))
    shares = rated([[0.75], [0.5]], ties="excluded", rounds=5).rows  # 0.375 wins, 0.125 losses, half a match tied
    for first, second in (excluded, shares):
        assert first.rating - second.rating == pytest.approx(400 * math.log10(3))


@pytest.mark.parametrize("ties", ["half", "excluded"])
@pytest.mark.parametrize(("n_models", "n_tasks"), [(4, 12), (5, 150)])
def test_rounds_solved_at_once_are_those_solved_one_by_one(ties, n_models, n_tasks):
    """Intervals and ranks are those of a fit of each round's own wins, a tie added to all rounds where one needs it."""
    generator = random.Random(n_tasks)
    scores = [[float(generator.random() < 0.3 + 0.1 * model) for _ in range(n_tasks)] for model in range(n_models)]
    scores.append(list(scores[0]))  # two that are alike have no win between them
    matches = matches_of(scores, rounds=60, seed=3)
    found, wins = ratings(matches, ties=ties), win_matrices(matches, ties)
    tied = not all(have_maximum(one[np.newaxis])[0] for one in wins)
    assert found.regularised_rounds == tied
    strengths = np.array([fit(one + 0.5 * tied) for one in wins[1:]])
    for place, row in enumerate(found.rows):
        ends = np.quantile(ANCHOR + POINTS * strengths[:, place], [0.025, 0.975])
        assert row.interval == pytest.approx(ends, abs=1e-6)
        ranks = np.quantile([1 + sum(s > one[place] + 1e-7 for s in one) for one in strengths], [0.025, 0.975])
        assert (row.rank_best, row.rank_worst) == (math.floor(ranks[0]), math.ceil(ranks[1]))


def test_wins_of_a_round_are_those_of_its_tasks():
    """Shares of 1, 0.5 and 0 against 1: wins p (1 - q), ties as half a win each or none; rounds hold as many matches."""
    matches = matches_of([[1.0, 0.5, 0.0], [1.0, 1.0, 1.0]], rounds=20)
    assert win_matrices(matches, "excluded")[0].tolist() == [[0.0, 0.0], [1.5, 0.0]]
    assert win_matrices(matches, "half")[0].tolist() == [[0.0, 0.75], [2.25, 0.0]]
    assert (win_matrices(matches, "half").sum(axis=(1, 2)) == 3).all()


def test_a_tie_that_one_round_needs_is_added_to_all():
    """Two models, 20 to 2: rounds without a loss need the tie. With it in all, ratings are in closed form in each."""
    matches = matches_of([[1.0] * 20 + [0.0] * 2, [0.0] * 20 + [1.0] * 2], rounds=200)
    won = matches.passed[1:, 0]
    assert 0 < (won == 22).sum() < 100
    found = ratings(matches, ties="excluded")
    assert not found.regularised
    assert found.regularised_rounds
    assert found.rows[0].rating == pytest.approx(1000 + 200 * math.log10(20 / 2))
    points = 1000 + 200 * np.log10((won + 0.5) / (22.5 - won))
    assert found.rows[0].interval == pytest.approx(np.quantile(points, [0.025, 0.975]), abs=1e-6)


def test_the_papers_ratings_come_from_a_win_matrix():
    """The logistic regression of the arena's method (base 10, scale 400, from 1000, ties excluded): within 1 point."""
    for generator in map(random.Random, range(5)):
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
