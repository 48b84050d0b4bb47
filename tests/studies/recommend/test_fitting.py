"""The hierarchical model: its likelihood, its fit against drawn outcomes, and what few tasks may say."""

import numpy as np
import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.studies.recommend.evidence import Evidence, ModelRun
from bigcodeflow.studies.recommend.factorizing import lower_factor
from bigcodeflow.studies.recommend.fitting import Deviations, fit_effects, learn
from bigcodeflow.studies.recommend.likelihood import Design, Outcomes, design_matrix, evaluate, normal_grid
from bigcodeflow.studies.recommend.ranking import Recommender

TRUTH = Deviations(difficulty=2.0, ability=0.8, library=0.5, interaction=0.4)
LIBRARIES = [f"lib{number}" for number in range(10)]


class Drawn:
    """Outcomes drawn from the model, with the truth behind them."""

    def __init__(self, seed, *, n_models=6, n_tasks=400, truth=TRUTH, missing=0.0):
        generator = np.random.default_rng(seed)
        chances = 0.4 / (1 + np.arange(len(LIBRARIES)))  # few tasks use the last ones
        uses = generator.random((n_tasks, len(LIBRARIES))) < chances
        uses[np.arange(n_tasks), generator.integers(0, len(LIBRARIES), n_tasks)] = True
        libraries = [frozenset(name for name, used in zip(LIBRARIES, row, strict=True) if used) for row in uses]
        effects = truth.interaction * generator.standard_normal((1 + len(LIBRARIES), n_models))
        effects[1:] += truth.library * generator.standard_normal((len(LIBRARIES), 1))
        effects[0] = 0.4 + truth.ability * generator.standard_normal(n_models)
        self.predictors = (design_matrix(libraries, LIBRARIES) @ effects).T
        difficulties = truth.difficulty * generator.standard_normal(n_tasks)
        passed = generator.random(self.predictors.shape) < 1 / (1 + np.exp(-self.predictors - difficulties))
        shares = np.where(generator.random(passed.shape) < missing, np.nan, passed)
        names = [f"model {number}" for number in range(n_models)]
        self.outcomes = Outcomes(names, [f"T/{number}" for number in range(n_tasks)], shares, libraries)
        self.truth = truth

    def rates(self, library):
        """The true pass rate of each model on tasks like those of a library."""
        using = [library in names for names in self.outcomes.libraries]
        points, weights = normal_grid(self.truth.difficulty)
        return ((1 / (1 + np.exp(-self.predictors[:, using, None] - points))) @ weights).mean(axis=1)


def recommender(outcomes):
    runs = [ModelRun(name, f"record of {name}", None, None) for name in outcomes.models]
    return Recommender.of(Evidence(runs, outcomes, "complete", ()))


@pytest.fixture(scope="module")
def drawn():
    return Drawn(1, missing=0.1)


@pytest.mark.parametrize("size", [1, 47, 48, 130])
def test_factors_are_those_of_lapack(size):
    """Of sizes below, at and above a tile's."""
    drawn = np.random.default_rng(size).normal(size=(size, size))
    matrix = drawn @ drawn.T + np.eye(size)
    assert lower_factor(matrix) == pytest.approx(np.linalg.cholesky(matrix), abs=1e-9)


def test_the_likelihood_is_that_of_a_fine_sum(drawn):
    """Eleven points around each task's mode give the integral over its difficulty to seven digits."""
    design = Design(drawn.outcomes, LIBRARIES)
    effects = np.random.default_rng(0).normal(0, 0.5, (1 + len(LIBRARIES), 6))
    points, weights = normal_grid(2.0)
    shifted = (design.matrix @ effects)[:, None, :] + points[:, None]
    shares = drawn.outcomes.shares.T[:, None, :]
    logs = np.where(np.isfinite(shares), np.nan_to_num(shares) * shifted - np.logaddexp(0, shifted), 0.0).sum(axis=2)
    fine = np.log(np.exp(logs) @ weights).sum()
    assert evaluate(design, effects, 2.0).value == pytest.approx(fine, rel=1e-6)


def test_slope_and_curvature_are_derivatives_of_the_likelihood(drawn):
    """Checked by differences of the likelihood and of the slope, in a few directions."""
    design = Design(drawn.outcomes, LIBRARIES)
    generator = np.random.default_rng(3)
    effects = generator.normal(0, 0.5, (1 + len(LIBRARIES), 6))
    found = evaluate(design, effects, 2.0)
    slope = design.matrix.T @ found.slope.T
    curvature = design.curvature(found.curvature)
    for _ in range(3):
        way = generator.normal(0, 1, effects.shape)
        ahead, behind = (evaluate(design, effects + step * way, 2.0) for step in (1e-4, -1e-4))
        assert (ahead.value - behind.value) / 2e-4 == pytest.approx((slope * way).sum(), rel=1e-4)
        change = design.matrix.T @ (ahead.slope - behind.slope).T / 2e-4
        assert change.ravel() == pytest.approx(-(curvature @ way.ravel()), rel=1e-2, abs=1e-2)


def test_the_fit_stands_at_the_mode(drawn):
    """No step in any direction rises, and the factor is that of the curvature there."""
    fit = fit_effects(Design(drawn.outcomes, LIBRARIES), TRUTH)
    again = fit_effects(fit.design, TRUTH, fit.effects)
    assert again.effects == pytest.approx(fit.effects, abs=1e-3)
    assert again.log_evidence == pytest.approx(fit.log_evidence, abs=1e-3)


@pytest.mark.slow
def test_deviations_are_learnt_from_outcomes():
    """The mean over five drawn stores lies near the truth: difficulty and ability well, the others as data allow."""
    found = np.mean([learn(Drawn(seed, n_models=8, n_tasks=600).outcomes).deviations for seed in range(5)], axis=0)
    assert found[0] == pytest.approx(TRUTH.difficulty, rel=0.15)
    assert found[1] == pytest.approx(TRUTH.ability, rel=0.3)
    assert found[2] == pytest.approx(TRUTH.library, rel=0.35)
    assert found[3] == pytest.approx(TRUTH.interaction, rel=0.35)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    """Over ten drawn stores, six models and three libraries: 95 % within 5 points, 3 standard errors of clusters."""
    held, stated, hits = [], [], []
    for seed in range(10):
        drawn = Drawn(seed)
        found = recommender(drawn.outcomes)
        for library in LIBRARIES[::4]:
            truth = dict(zip(drawn.outcomes.models, drawn.rates(library), strict=True))
            ranked = found.recommend([library]).models
            held += [one.interval.low <= truth[one.run.model] <= one.interval.high for one in ranked]
            stated.append(ranked[0].best)
            hits.append(truth[ranked[0].run.model] == max(truth.values()))
    assert np.mean(held) == pytest.approx(0.95, abs=0.05)
    assert np.mean(hits) == pytest.approx(np.mean(stated), abs=0.2)


@pytest.mark.slow
def test_five_tasks_do_not_decide():
    """Who passes all five tasks of a library rises there a little above where it stands on all tasks, and not to 100 %."""
    generator = np.random.default_rng(0)
    n_tasks, n_rare = 300, 5
    libraries = [frozenset({f"lib{number % 6}"}) for number in range(n_tasks - n_rare)] + [frozenset({"rare"})] * n_rare
    shares = (generator.random((4, n_tasks)) < np.array([[0.6], [0.55], [0.45], [0.3]])).astype(float)
    shares[:, -n_rare:] = 0.0
    shares[3, -n_rare:] = 1.0
    found = recommender(Outcomes(list("abcd"), [f"T/{n}" for n in range(n_tasks)], shares, libraries)).recommend(
        ["rare"]
    )
    rates = {one.run.model: one for one in found.models}
    assert rates["d"].observed == 1.0
    assert 0.3 < rates["d"].rate < 0.6
    assert rates["a"].observed == 0.0
    assert 0.2 < rates["a"].rate < 0.6
    assert all(one.interval.high - one.interval.low > 0.2 for one in found.models)


@pytest.mark.slow
def test_many_tasks_do_decide():
    """With hundreds of tasks the rate is the observed share, within two points."""
    drawn = Drawn(5, n_tasks=1_000)
    for one in recommender(drawn.outcomes).recommend(["lib0"]).models:
        assert one.rate == pytest.approx(one.observed, abs=0.02)
        assert one.interval.low < one.rate < one.interval.high


@pytest.mark.slow
def test_more_of_the_same_evidence_narrows_the_interval():
    """A library of many tasks has a narrower interval than one of few."""
    found = recommender(Drawn(2).outcomes)
    counts = found.evidence.outcomes.n_tasks_of
    widths = {}
    for name in (max(counts, key=counts.get), min(counts, key=counts.get)):
        widths[name] = np.mean([one.interval.high - one.interval.low for one in found.recommend([name]).models])
    assert list(widths.values()) == sorted(widths.values())


@pytest.mark.slow
def test_the_order_of_tasks_does_not_matter(drawn):
    """The same outcomes in another order give the same ranking to the last digits that count."""
    first = recommender(drawn.outcomes).recommend(["lib3"])
    order = np.random.default_rng(0).permutation(len(drawn.outcomes.task_ids))
    second = recommender(drawn.outcomes.kept(range(6), list(order))).recommend(["lib3"])
    assert [one.run for one in first.models] == [one.run for one in second.models]
    for one, other in zip(first.models, second.models, strict=True):
        assert one.rate == pytest.approx(other.rate, abs=1e-3)


@pytest.mark.slow
def test_probabilities_and_ranks_belong_together(drawn):
    """Each place is somebody's in every draw; ranks hold the place that the mean rate gives."""
    found = recommender(drawn.outcomes).recommend(["lib0", "lib1"])
    assert sum(one.best for one in found.models) == pytest.approx(1.0)
    assert [one.rate for one in found.models] == sorted((one.rate for one in found.models), reverse=True)
    for place, one in enumerate(found.models, start=1):
        assert one.rank_low <= place <= one.rank_high
    assert found == recommender(drawn.outcomes).recommend(["lib1", "lib0"])


@pytest.mark.parametrize("shares", [np.ones((2, 12)), np.zeros((3, 12)), np.eye(2, 12), np.full((2, 1), 0.5)])
def test_extreme_outcomes_have_a_ranking(shares):
    """Where all pass, all fail, or nearly nothing is known, rates stay within 0 and 1, and intervals are wide."""
    n_models, n_tasks = shares.shape
    names = [f"m{number}" for number in range(n_models)]
    outcomes = Outcomes(names, [f"T/{n}" for n in range(n_tasks)], shares, [frozenset({"lib"})] * n_tasks)
    for one in recommender(outcomes).recommend(["lib"]).models:
        assert 0 <= one.interval.low < one.rate < one.interval.high <= 1


def test_libraries_that_no_task_uses_are_one_line(drawn):
    """The error names them."""
    with pytest.raises(ConfigError, match="no recorded task uses other"):
        recommender(drawn.outcomes).recommend(["other"])
