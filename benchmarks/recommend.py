"""Measure the calibration of `bigcodeflow recommend`: how often its intervals hold a rate that it did not see.

    python benchmarks/recommend.py --data ../shared --out FOLDER [--repeats 10] [--seed 0] [--simulations 20]

Two parts, one Markdown table each:

- Few tasks: for each library with 20 or more tasks in the recorded runs, all tasks but five are removed, drawn anew for
  each repeat. The table compares the errors of three predictions of the removed tasks' pass rate: the pooled rate, the
  rate of the five tasks, and the model's rate on all other tasks; and shows how often the difference of two models
  lies in its 95 % interval.
- Simulations: outcomes of 2, 8 and 20 models on the libraries of the 1,140 tasks, drawn from a logistic model of
  ability, library, their interaction and the task's difficulty, so that true rates are known: how often the interval
  holds them, and how often the model named the best is the best, compared with the stated probability.

Recorded runs are imported into FOLDER/store; nothing is executed. Standard errors are those of means over libraries,
and over simulations.
"""

import argparse
import ast
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.table import Table
from bigcodeflow.importing import import_results
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.results.formatting import numbers
from bigcodeflow.studies.recommend.evidence import Evidence, ModelRun, evidence_of_store
from bigcodeflow.studies.recommend.pooling import Array, Outcomes, drawn_rates, learnt_weights
from bigcodeflow.studies.recommend.ranking import Recommender

_KEPT, _FEWEST_HELD, _N_DRAWS = 5, 20, 1_000
_SIZES = (2, 8, 20)
#: Standard deviations of the simulations, logits.
_DIFFICULTY, _ABILITY, _LIBRARY, _INTERACTION = 2.5, 0.7, 0.4, 0.3
#: Difficulties over which true rates are averaged.
_NORMAL = np.random.default_rng(0).standard_normal(2_000)


def main() -> None:
    """Compute both parts and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    try:
        outcomes = recorded_outcomes(given.data / "data", given.out / "store")
    except BigCodeFlowError as error:
        sys.exit(str(error))
    seeds = range(given.seed, given.seed + given.repeats)
    large = [name for name, n_tasks in outcomes.n_tasks_of.items() if n_tasks >= _FEWEST_HELD]
    print(errors_table({name: [few(outcomes, name, seed) for seed in seeds] for name in large}).to_markdown())
    libraries = libraries_of(given.data / "data")
    drawn = range(given.seed, given.seed + given.simulations)
    print(
        f"\n{simulations_table({n: [simulation(libraries, n, seed) for seed in drawn] for n in _SIZES}).to_markdown()}"
    )


def recorded_outcomes(data: Path, store: Path) -> Outcomes:
    """Import the recorded runs with verdicts, and read their outcomes on common tasks."""
    settings = {"source": str(data / "bigcodebench-v0.1.4.parquet")}
    with progress_listener(quiet=True) as listener:
        for path in sorted(data.glob("samples/*/*_eval_results.json.gz")):
            import_results(path, settings=settings, store=store, listener=listener)
    return evidence_of_store(store).outcomes


def libraries_of(data: Path) -> list[frozenset[str]]:
    """Read the libraries of each task."""
    column = pq.read_table(data / "bigcodebench-v0.1.4.parquet", columns=["libs"])["libs"].to_pylist()
    return [frozenset(ast.literal_eval(text)) for text in column]


class Few(NamedTuple):
    """Errors of three predictions for each model, as shares; and the share of differences inside their intervals."""

    pooled: Array
    own: Array
    others: Array
    held: float


def few(outcomes: Outcomes, library: str, seed: int) -> Few:
    """Remove all tasks of a library but five, and compare the predictions with them."""
    generator = np.random.default_rng([seed, len(library)])
    using = np.array([place for place, names in enumerate(outcomes.libraries) if library in names])
    kept_of_library = generator.choice(using, _KEPT, replace=False)
    held = np.setdiff1d(using, kept_of_library)
    models = range(len(outcomes.models))
    kept = outcomes.kept(models, [place for place in range(len(outcomes.task_ids)) if place not in held])
    places = [place for place, names in enumerate(kept.libraries) if library in names]
    rates = drawn_rates(kept, places, learnt_weights(kept), n_draws=_N_DRAWS, seed=seed)
    truth = np.nanmean(outcomes.shares[:, held], axis=1)
    # The reference rates are shares of few tasks too: the tasks are resampled with each draw of the rates.
    weights = generator.standard_gamma(1.0, (_N_DRAWS, len(held)))
    noise = weights @ (np.nan_to_num(outcomes.shares[:, held].T) - truth) / weights.sum(axis=1, keepdims=True)
    within = []
    for first, second in combinations(models, 2):
        low, high = np.quantile((rates + noise)[:, first] - (rates + noise)[:, second], (0.025, 0.975))
        within.append(low <= truth[first] - truth[second] <= high)
    own = np.nanmean(outcomes.shares[:, kept_of_library], axis=1)
    return Few(rates.mean(axis=0) - truth, own - truth, np.nanmean(kept.shares, axis=1) - truth, float(np.mean(within)))


def errors_table(found: dict[str, list[Few]]) -> Table:
    """Show root mean squares of the errors in points, and the coverage of differences."""
    squares = {
        library: [np.mean([np.square(getattr(one, name)) for one in rows]) for name in ("pooled", "own", "others")]
        for library, rows in found.items()
    }
    squares["all"] = list(np.mean(list(squares.values()), axis=0))
    held = {library: [one.held for one in rows] for library, rows in found.items()}
    shown = {library: f"{100 * np.mean(shares):.0f} %" for library, shares in held.items()}
    shown["all"] = _with_error([float(np.mean(shares)) for shares in held.values()])
    rows = [[name, *(f"{100 * one**0.5:.1f}" for one in row), shown[name]] for name, row in squares.items()]
    headings = ["library", *numbers("pooled", "the five tasks alone", "all other tasks", "differences in the interval")]
    return Table.of(headings, rows, title="Error of the predicted rate where five tasks are known, points")


class Simulated(NamedTuple):
    """Share of rates within their intervals, share of correct best models, the stated probability, and CPU seconds."""

    within: float
    hits: float
    stated: float
    seconds: float


def simulation(libraries: Sequence[frozenset[str]], n_models: int, seed: int) -> Simulated:
    """Draw outcomes, and rank the models for each library with five or more tasks."""
    generator = np.random.default_rng([seed, n_models])
    names = sorted({name for one in libraries for name in one})
    uses = np.array([[name in one for name in names] for one in libraries])
    effects = _INTERACTION * generator.standard_normal((len(names), n_models))
    effects += _LIBRARY * generator.standard_normal((len(names), 1))
    predictors = (0.3 + _ABILITY * generator.standard_normal(n_models) + uses @ effects).T
    passed = generator.random(predictors.shape) < _chance(
        predictors + _DIFFICULTY * generator.standard_normal(len(libraries))
    )
    rates_of_tasks = np.array([_chance(row[:, None] + _DIFFICULTY * _NORMAL).mean(axis=1) for row in predictors])
    models = [f"model {number:02}" for number in range(n_models)]
    ids = [f"task {number}" for number in range(len(libraries))]
    outcomes = Outcomes(models, ids, passed.astype(np.float64), libraries)
    began, within, hits, stated = time.process_time(), [], [], []
    recommender = Recommender.of(
        Evidence([ModelRun(name, name, None, None) for name in models], outcomes, "complete", ())
    )
    for column, name in enumerate(names):
        if outcomes.n_tasks_of[name] < _KEPT:
            continue
        found = recommender.recommend([name])
        truth = dict(zip(models, rates_of_tasks[:, uses[:, column]].mean(axis=1), strict=True))
        within += [one.interval.low <= truth[one.run.model] <= one.interval.high for one in found.models]
        hits.append(found.models[0].run.model == max(truth, key=lambda model: truth[model]))
        stated.append(found.models[0].best)
    means = (float(np.mean(values)) for values in (within, hits, stated))
    return Simulated(*means, time.process_time() - began)


def simulations_table(found: dict[int, list[Simulated]]) -> Table:
    """Show coverage, best models and time by the number of models."""
    rows = []
    for size, ones in found.items():
        cells = (_with_error([getattr(one, name) for one in ones]) for name in ("within", "hits", "stated"))
        rows.append([size, *cells, f"{np.mean([one.seconds for one in ones]):.1f}"])
    headings = ["models", *numbers("rates in the 95 % interval", "the best named", "stated", "CPU s")]
    return Table.of(headings, rows, title="Simulated models on the libraries of 1,140 tasks")


def _chance(predictors: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-predictors))
    return found


def _with_error(values: Sequence[float]) -> str:
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{100 * np.mean(values):.1f} ± {100 * error:.1f} %"


if __name__ == "__main__":
    main()
