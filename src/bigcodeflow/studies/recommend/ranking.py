"""Rank models on the tasks of a stack, from draws of their pass rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.results.statistics import Interval
from bigcodeflow.studies.recommend.evidence import Evidence, ModelRun
from bigcodeflow.studies.recommend.libraries import shortened
from bigcodeflow.studies.recommend.pooling import Array, Weights, drawn_rates

_N_DRAWS = 2_000
_SEED = 0
_ENDS = (0.025, 0.975)


class RankedModel(NamedTuple):
    """Rank and pass rate of a model on the tasks of a stack."""

    run: ModelRun
    rate: float
    """Posterior mean of its pass rate on tasks like those of the stack, in 0..1."""
    interval: Interval
    """95 % credible interval of that rate."""
    rank_low: int
    rank_high: int
    """Ends of the 95 % interval of its rank, 1 being the best."""
    best: float
    """Probability that its rate is the highest."""
    n_tasks: int
    """Number of tasks of the stack on which it was judged."""
    observed: float | None
    """Observed pass rate on these tasks; None without tasks."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Models ranked by their pass rates on the tasks of a stack, the best first."""

    libraries: tuple[str, ...]
    models: Sequence[RankedModel]
    n_tasks: int
    """Number of tasks that use any of the libraries."""
    n_tasks_of: dict[str, int]
    """Number of tasks by library of the stack."""
    split: str
    weights: Weights
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Sentence that names the best model and the probability that it is the best."""
        first = self.models[0]
        equal = [one.run.model for one in self.models[1:] if one.rank_low == 1]
        rest = f"; {shortened(equal)} may be as good" if equal else ""
        return (
            f"{first.run.model} has the highest pass rate on these tasks, with a probability of "
            f"{probability(first.best)} that no other model's is higher{rest}."
        )


def recommend(evidence: Evidence, libraries: Sequence[str]) -> Recommendation:
    """Rank the models on the tasks that use any of the libraries.

    The rate is the mean pass rate on a population of tasks like those of the stack, see `drawn_rates`.

    Raises:
        ConfigError: no task uses them.
    """
    outcomes, wanted = evidence.outcomes, frozenset(libraries)
    places = [place for place, names in enumerate(outcomes.libraries) if names & wanted]
    if not places:
        raise ConfigError(f"no recorded task uses {shortened(sorted(wanted)) or 'no library'}: name other libraries")
    rates = drawn_rates(outcomes, places, n_draws=_N_DRAWS, seed=_SEED)
    names = tuple(sorted(wanted, key=str.lower))
    return Recommendation(
        libraries=names,
        models=_ranked(evidence.runs, rates, outcomes.shares[:, places]),
        n_tasks=len(places),
        n_tasks_of={name: outcomes.n_tasks_of[name] for name in names},
        split=evidence.split,
        weights=outcomes.weights,
        notes=evidence.notes,
    )


def probability(share: float) -> str:
    """Format a share in whole percent, but never as certain, since it comes from draws."""
    return "> 99 %" if share > 0.99 else "< 1 %" if share < 0.01 else f"{100 * share:.0f} %"  # noqa: PLR2004


def _ranked(runs: Sequence[ModelRun], rates: Array, observed: Array) -> list[RankedModel]:
    """Return the models in descending order of their mean rates."""
    means = rates.mean(axis=0)
    ends = np.quantile(rates, _ENDS, axis=0)
    # Equal draws are ordered by place.
    ranks = np.argsort(np.argsort(-rates, axis=1, kind="stable"), axis=1, kind="stable") + 1
    rank_ends = np.quantile(ranks, _ENDS, axis=0, method="inverted_cdf")
    best = (ranks == 1).mean(axis=0)
    found = []
    for place in np.argsort(-means, kind="stable"):
        judged = observed[place][np.isfinite(observed[place])]
        found.append(
            RankedModel(
                run=runs[place],
                rate=float(means[place]),
                interval=Interval(float(ends[0, place]), float(ends[1, place])),
                rank_low=int(rank_ends[0, place]),
                rank_high=int(rank_ends[1, place]),
                best=float(best[place]),
                n_tasks=len(judged),
                observed=float(judged.mean()) if len(judged) else None,
            )
        )
    return found
