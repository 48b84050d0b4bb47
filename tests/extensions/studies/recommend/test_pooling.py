"""Pass rates pooled with those on all tasks: against drawn outcomes whose truth is known, and few tasks' say."""

from string import ascii_lowercase

import numpy as np
import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow_studies.recommend.ranking import Evidence, ModelRun, Outcomes, recommendation
from bigcodeflow_studies.recommend.stack import Stack

LIBRARIES = [f"lib{number}" for number in range(10)]
PLACES = np.random.default_rng(9).standard_normal(2000)


class Drawn:
    """Outcomes of models whose abilities differ by library, and tasks of different difficulty, with the truth."""

    def __init__(
        self, seed, *, n_models=6, n_tasks=400, difficulty=2.0, ability=0.8, library=0.5, interaction=0.4, missing=0.0
    ):
        generator = np.random.default_rng(seed)
        chances = 0.4 / (1 + np.arange(len(LIBRARIES)))  # few tasks use the last ones
        uses = generator.random((n_tasks, len(LIBRARIES))) < chances
        uses[np.arange(n_tasks), generator.integers(0, len(LIBRARIES), n_tasks)] = True
        libraries = [frozenset(name for name, used in zip(LIBRARIES, row, strict=True) if used) for row in uses]
        effects = interaction * generator.standard_normal((len(LIBRARIES), n_models))
        effects += library * generator.standard_normal((len(LIBRARIES), 1))
        abilities = 0.4 + ability * generator.standard_normal(n_models)
        self.predictors = (abilities + uses @ effects).T
        self.difficulty = difficulty
        passed = generator.random(self.predictors.shape) < _chance(
            self.predictors - difficulty * generator.standard_normal(n_tasks)
        )
        shares = np.where(generator.random(passed.shape) < missing, np.nan, passed)
        self.outcomes = Outcomes(range(n_tasks), shares, libraries)

    def rates(self, library):
        """The true pass rate of each model on tasks like those of a library."""
        using = [library in names for names in self.outcomes.libraries]
        return _chance(self.predictors[:, using, None] - self.difficulty * PLACES).mean(axis=(1, 2))


def _chance(predictors):
    return 1 / (1 + np.exp(-predictors))


def recommender(outcomes):
    """Ranks the models, called a, b and so on, on the tasks of some libraries."""
    runs = [ModelRun(name, f"record of {name}", None, None) for name in ascii_lowercase[: len(outcomes.shares)]]
    evidence = Evidence(runs, outcomes, "complete", ())
    return lambda libraries: recommendation(evidence, Stack(tuple(libraries), ()))


@pytest.fixture(scope="module")
def drawn():
    return Drawn(1, missing=0.02)


def test_libraries_that_differ_weigh_more_than_libraries_that_do_not():
    """The mean of all tasks counts for little where libraries are unlike, in level or in who is good at them."""
    alike = [Drawn(seed, library=0.0, interaction=0.0).outcomes.weights for seed in range(5)]
    hard = [Drawn(seed, library=2.0, interaction=0.0).outcomes.weights for seed in range(5)]
    special = [Drawn(seed, library=0.0, interaction=1.5).outcomes.weights for seed in range(5)]
    assert np.mean([one.level for one in hard]) < 0.5 * np.mean([one.level for one in alike])
    assert np.mean([one.difference for one in special]) < 0.5 * np.mean([one.difference for one in alike])


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Over ten drawn stores, six models and three libraries: 95 % within 5 points, 3 standard errors of clusters."""
    held, stated, hits = [], [], []
    for seed in range(10):
        drawn = Drawn(seed)
        found = recommender(drawn.outcomes)
        for library in LIBRARIES[::4]:
            truth = dict(zip(ascii_lowercase, drawn.rates(library), strict=False))
            ranked = found([library]).models
            held += [one.ci_low <= truth[one.model] <= one.ci_high for one in ranked]
            stated.append(ranked[0].probability_best)
            hits.append(truth[ranked[0].model] == max(truth.values()))
    assert np.mean(held) == pytest.approx(0.95, abs=0.05)
    assert np.mean(hits) == pytest.approx(np.mean(stated), abs=0.2)


def test_five_tasks_do_not_decide():
    """Who passes all five tasks of a library rises there a little above where it stands on all tasks, and not to 100 %."""
    generator = np.random.default_rng(0)
    n_tasks, n_rare = 300, 5
    libraries = [frozenset({f"lib{number % 6}"}) for number in range(n_tasks - n_rare)] + [frozenset({"rare"})] * n_rare
    shares = (generator.random((4, n_tasks)) < np.array([[0.6], [0.55], [0.45], [0.3]])).astype(float)
    shares[:, -n_rare:] = 0.0
    shares[3, -n_rare:] = 1.0
    outcomes = Outcomes(range(n_tasks), shares, libraries)
    found = recommender(outcomes)(["rare"])
    rates = {one.model: one for one in found.models}
    assert rates["d"].observed == 1.0
    assert 0.3 < rates["d"].rate < 0.6
    assert rates["d"].rate > recommender(outcomes)(["lib0"]).models[-1].rate
    assert rates["a"].observed == 0.0
    assert 0.2 < rates["a"].rate < 0.6
    assert all(one.ci_high - one.ci_low > 0.2 for one in found.models)


def test_many_tasks_do_decide():
    """With hundreds of tasks the rate is the observed share, within three points."""
    drawn = Drawn(5, n_tasks=1_000)
    for one in recommender(drawn.outcomes)(["lib0"]).models:
        assert one.rate == pytest.approx(one.observed, abs=0.03)
        assert one.ci_low < one.rate < one.ci_high


def test_more_of_the_same_evidence_narrows_the_interval():
    """A library of many tasks has a narrower interval than one of few."""
    outcomes = Drawn(2).outcomes
    found, counts = recommender(outcomes), outcomes.n_tasks_of
    widths = {}
    for name in (max(counts, key=counts.get), min(counts, key=counts.get)):
        widths[name] = np.mean([one.ci_high - one.ci_low for one in found([name]).models])
    assert list(widths.values()) == sorted(widths.values())


def test_probabilities_and_ranks_belong_together(drawn):
    """Each place is somebody's in every draw; ranks hold the place that the mean rate gives."""
    found = recommender(drawn.outcomes)(["lib0", "lib1"])
    assert sum(one.probability_best for one in found.models) == pytest.approx(1.0)
    assert [one.rate for one in found.models] == sorted((one.rate for one in found.models), reverse=True)
    for place, one in enumerate(found.models, start=1):
        assert one.rank_low <= place <= one.rank_high
    assert found == recommender(drawn.outcomes)(["lib1", "lib0"])


def test_equal_models_are_equally_likely_the_best():
    """Else the first of them would surely be the best."""
    outcomes = Outcomes(range(12), np.zeros((2, 12)), [frozenset({"lib"})] * 12)
    found = recommender(outcomes)(["lib"])
    assert [one.probability_best for one in found.models] == pytest.approx([0.5, 0.5], abs=0.1)
    assert "b may be as good" in found.sentence


@pytest.mark.parametrize("shares", [np.ones((2, 12)), np.zeros((3, 12)), np.eye(2, 12), np.full((2, 1), 0.5)])
def test_extreme_outcomes_have_a_ranking(shares):
    """Where all pass, all fail, or nearly nothing is known, rates stay within 0 and 1, and intervals are wide."""
    n_tasks = shares.shape[1]
    outcomes = Outcomes(range(n_tasks), shares, [frozenset({"lib"})] * n_tasks)
    for one in recommender(outcomes)(["lib"]).models:
        assert 0 <= one.ci_low < one.rate < one.ci_high <= 1


def test_libraries_that_no_task_uses_are_one_line(drawn):
    """The error names them."""
    with pytest.raises(ConfigError, match="no recorded task uses other"):
        recommender(drawn.outcomes)(["other"])
