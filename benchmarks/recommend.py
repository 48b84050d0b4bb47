"""How well `bigcodeflow recommend` is calibrated: how often its intervals hold what it did not see.

    python benchmarks/recommend.py --data ../shared --out FOLDER [--repeats 10] [--seed 0] [--simulations 20]

Four parts, one Markdown table each:

- Single tasks: each task is left out by itself, and its outcome compared with the predicted chance of each model. The
  variances are learnt without the task's group, every twentieth task.
- Folds: of the recorded runs a fifth of all tasks is held out, drawn anew for each repeat, and each fifth once. The
  model learns from the others, its variances too, and predicts for each library the share of the held-out tasks that
  each model passes, and the difference between models.
- Few tasks: of each library of 20 tasks and more all tasks but five are held out. The error of the prediction stands
  beside that of the five tasks' own share, and of the model's share of all other tasks.
- Simulations: outcomes drawn from the model itself, of 2, 8 and 20 models on the 1,140 tasks' libraries, with the true
  rates known: also how often the model named the best is the best, beside the probability stated, and the CPU time.

Recorded runs are imported into FOLDER/store by bigcodeflow's importer, nothing is executed. A held-out share is
discrete: where it lies in its predictive distribution is drawn within its own step (randomized probability integral
transform), so that a calibrated prediction holds 50 and 95 % exactly. Standard errors are those of means over repeats,
in the second part over libraries, since each repeat has nearly the same truth; cells within share tasks and models.
What is finished stands in FOLDER/recommend.jsonl and is not computed again.
"""

import argparse
import ast
import itertools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from sandbox_meter import measured_once

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.table import Table
from bigcodeflow.importing import import_results
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.results.formatting import numbers
from bigcodeflow.studies.recommend.evidence import Evidence, ModelRun, evidence_of_store
from bigcodeflow.studies.recommend.fitting import Deviations, Fit, fit_outcomes, learn
from bigcodeflow.studies.recommend.likelihood import Array, Outcomes, design_matrix, normal_grid
from bigcodeflow.studies.recommend.ranking import Recommender, drawn_rates

_N_GROUPS, _N_FOLDS, _KEPT, _N_DRAWS = 20, 5, 5, 1_000
#: Ends of the groups of predicted chances.
_CHANCES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: Tasks of a library that is held out but for five.
_FEWEST_HELD = 20
_SIZES = (2, 8, 20)
_TRUTH = Deviations(difficulty=2.5, ability=0.7, library=0.4, interaction=0.3)
_LEVELS = (0.5, 0.95)


class Unit(NamedTuple):
    """One computation: of which part, which one, and its seed."""

    part: str
    what: str
    seed: int

    @property
    def key(self) -> str:
        """Its name in the file of results."""
        return f"{self.part} {self.what} {self.seed}"


def main() -> None:
    """Compute what is missing, and print the tables."""
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
    units = [Unit("single", str(group), given.seed) for group in range(_N_GROUPS)]
    units += [Unit("folds", str(fold), seed) for seed in seeds for fold in range(_N_FOLDS)]
    units += [Unit("few", library, seed) for seed in seeds for library in large]
    units += [Unit("simulated", str(size), given.seed + place) for size in _SIZES for place in range(given.simulations)]
    libraries = libraries_of(given.data / "data")
    found = measured_once(given.out / "recommend.jsonl", units, lambda unit: computed(unit, outcomes, libraries))
    print("\n\n".join(table.to_markdown() for table in tables(units, found)))


def recorded_outcomes(data: Path, store: Path) -> Outcomes:
    """The recorded runs with verdicts, imported once."""
    settings = {"source": str(data / "bigcodebench-v0.1.4.parquet")}
    with progress_listener(quiet=True) as listener:
        for path in sorted(data.glob("samples/*/*_eval_results.json.gz")):
            import_results(path, settings=settings, store=store, listener=listener)
    return evidence_of_store(store).outcomes


def libraries_of(data: Path) -> list[frozenset[str]]:
    """Libraries of each task."""
    column = pq.read_table(data / "bigcodebench-v0.1.4.parquet", columns=["libs"])["libs"].to_pylist()
    return [frozenset(ast.literal_eval(text)) for text in column]


def computed(unit: Unit, outcomes: Outcomes, libraries: Sequence[frozenset[str]]) -> dict[str, Any]:
    """The result of a unit: places of truths in their predictions, and errors."""
    print(f"{time.strftime('%H:%M:%S')} {unit.key} …", file=sys.stderr, flush=True)
    if unit.part == "single":
        return single(outcomes, int(unit.what))
    if unit.part == "folds":
        return fold(outcomes, int(unit.what), unit.seed)
    if unit.part == "few":
        return few(outcomes, unit.what, unit.seed)
    return simulation(libraries, int(unit.what), unit.seed)


def single(outcomes: Outcomes, number: int) -> dict[str, Any]:
    """Every twentieth task left out by itself: the chance that each model passes, what came, and two plain guesses."""
    group = np.arange(number, len(outcomes.task_ids), _N_GROUPS)
    known = learn(_without(outcomes, group))
    found: dict[str, list[float]] = {"chances": [], "passed": [], "all": [], "own": []}
    for place in group:
        kept, libraries = _without(outcomes, [place]), outcomes.libraries[place]
        chances = drawn_rates(fit_outcomes(kept, known), [libraries], _N_DRAWS).mean(axis=0)
        alike = [other for other, names in enumerate(kept.libraries) if names & libraries]
        means = np.nanmean(kept.shares, axis=1)
        own = np.nanmean(kept.shares[:, alike], axis=1) if alike else means
        for model in np.flatnonzero(np.isfinite(outcomes.shares[:, place])):
            found["chances"].append(float(chances[model]))
            found["passed"].append(float(outcomes.shares[model, place]))
            found["all"].append(float(means[model]))
            found["own"].append(float(own[model] if np.isfinite(own[model]) else means[model]))
    return found


def _without(outcomes: Outcomes, held: Sequence[int] | Array) -> Outcomes:
    kept = np.setdiff1d(range(len(outcomes.task_ids)), held)
    return outcomes.kept(range(len(outcomes.models)), [int(one) for one in kept])


def fold(outcomes: Outcomes, number: int, seed: int) -> dict[str, Any]:
    """One fifth of the tasks held out."""
    generator = np.random.default_rng(seed)
    n_tasks = len(outcomes.task_ids)
    held = np.sort(generator.permutation(n_tasks)[number::_N_FOLDS])
    fit, kept = _trained(outcomes, held)
    found: dict[str, list[float]] = {"models": [], "differences": []}
    for name, n_kept in kept.n_tasks_of.items():
        places = [place for place in held if name in outcomes.libraries[place]]
        if n_kept + len(places) >= 2 * _KEPT and places:
            for kind, one in _places_of(fit, outcomes, places, generator).items():
                found[kind] += one
    return found


def few(outcomes: Outcomes, library: str, seed: int) -> dict[str, Any]:
    """All tasks of a library but five held out; errors of the prediction and of two plain ones, in shares."""
    generator = np.random.default_rng([seed, len(library)])
    using = np.array([place for place, names in enumerate(outcomes.libraries) if library in names])
    kept_of_library = generator.choice(using, _KEPT, replace=False)
    held = np.setdiff1d(using, kept_of_library)
    fit, kept = _trained(outcomes, held)
    found: dict[str, Any] = _places_of(fit, outcomes, list(held), generator)
    truth = np.nanmean(outcomes.shares[:, held], axis=1)
    predicted = _predicted(fit, outcomes, list(held), generator).mean(axis=0)
    errors = {
        "pooled": predicted - truth,
        "own": np.nanmean(outcomes.shares[:, kept_of_library], axis=1) - truth,
        "all": np.nanmean(kept.shares, axis=1) - truth,
    }
    return found | {name: list(map(float, one)) for name, one in errors.items()}


def _trained(outcomes: Outcomes, held: Array) -> tuple[Fit, Outcomes]:
    kept = _without(outcomes, held)
    return fit_outcomes(kept, learn(kept)), kept


def _predicted(fit: Fit, outcomes: Outcomes, places: Sequence[int], generator: np.random.Generator) -> Array:
    """Shares of the held-out tasks that pass, drawn from what the fit predicts: (draws, models)."""
    tasks = [outcomes.libraries[place] for place in places]
    effects = fit.draws(_N_DRAWS, int(generator.integers(2**31)))
    difficulties = fit.deviations.difficulty * generator.standard_normal((_N_DRAWS, len(tasks), 1))
    predictors = np.einsum("tc,dcm->dtm", design_matrix(tasks, fit.design.columns), effects) + difficulties
    passed = generator.random(predictors.shape) < 1 / (1 + np.exp(-predictors))
    judged = np.isfinite(outcomes.shares[:, places]).T
    shares: Array = (passed & judged).sum(axis=1) / np.maximum(judged.sum(axis=0), 1)
    return shares


def _places_of(
    fit: Fit, outcomes: Outcomes, places: Sequence[int], generator: np.random.Generator
) -> dict[str, list[float]]:
    """Where truths lie in their predictive distributions, each in 0..1: of models, and of differences between them."""
    predicted = _predicted(fit, outcomes, places, generator)
    truth = np.nan_to_num(np.nanmean(outcomes.shares[:, places], axis=1))
    first, second = np.triu_indices(len(truth), 1)
    differences = predicted[:, first] - predicted[:, second]
    return {
        "models": _ranks(predicted, truth, generator),
        "differences": _ranks(differences, truth[first] - truth[second], generator),
    }


def _ranks(predicted: Array, truth: Array, generator: np.random.Generator) -> list[float]:
    below = (predicted < truth - 1e-9).mean(axis=0)
    equal = (abs(predicted - truth) <= 1e-9).mean(axis=0)
    return list(map(float, below + generator.random(truth.shape) * equal))


def simulation(libraries: Sequence[frozenset[str]], n_models: int, seed: int) -> dict[str, Any]:
    """Outcomes drawn from the model, ranked for each library of some tasks."""
    outcomes, truth_of = simulated(libraries, n_models, seed)
    began = time.process_time()
    recommender = Recommender.of(
        Evidence([ModelRun(name, name, None, None) for name in outcomes.models], outcomes, "complete", ())
    )
    seconds = time.process_time() - began
    within, hits, stated = [], [], []
    for name, n_tasks in outcomes.n_tasks_of.items():
        if n_tasks < _KEPT:
            continue
        found = recommender.recommend([name])
        truths = truth_of(name)
        best = max(truths, key=lambda model: truths[model])
        within += [bool(one.interval.low <= truths[one.run.model] <= one.interval.high) for one in found.models]
        hits.append(found.models[0].run.model == best)
        stated.append(found.models[0].best)
    learnt = recommender.fit.deviations
    return {"within": float(np.mean(within)), "hits": float(np.mean(hits)), "stated": float(np.mean(stated)),
            "seconds": seconds, "deviations": list(learnt)}  # fmt: skip


def simulated(libraries: Sequence[frozenset[str]], n_models: int, seed: int) -> tuple[Outcomes, Any]:
    """Outcomes of models whose effects are drawn, and a function from a library to each model's true pass rate."""
    generator = np.random.default_rng([seed, n_models])
    names = sorted({name for one in libraries for name in one})
    design = design_matrix(libraries, names)
    effects = _TRUTH.interaction * generator.standard_normal((len(names) + 1, n_models))
    effects[1:] += _TRUTH.library * generator.standard_normal((len(names), 1))
    effects[0] = 0.3 + _TRUTH.ability * generator.standard_normal(n_models)
    predictors = (design @ effects).T
    difficulties = _TRUTH.difficulty * generator.standard_normal(len(libraries))
    passed = generator.random(predictors.shape) < 1 / (1 + np.exp(-predictors - difficulties))
    models = [f"model {number:02}" for number in range(n_models)]
    points, weights = normal_grid(_TRUTH.difficulty)

    def truth_of(library: str) -> Mapping[str, float]:
        using = design[:, 1 + names.index(library)] > 0
        rates = (1 / (1 + np.exp(-predictors[:, using, None] - points))) @ weights
        return dict(zip(models, map(float, rates.mean(axis=1)), strict=True))

    ids = [f"task {number}" for number in range(len(libraries))]
    return Outcomes(models, ids, passed.astype(np.float64), libraries), truth_of


def tables(units: Sequence[Unit], found: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """The tables of the parts that there are."""
    by_part: dict[str, list[tuple[Unit, Mapping[str, Any]]]] = {}
    for unit, one in zip(units, found, strict=True):
        by_part.setdefault(unit.part, []).append((unit, one))
    if "single" in by_part:
        yield from _single_tasks([one for _, one in by_part["single"]])
    headings = ["predicted", *numbers("cells", "in the 50 % interval", "in the 95 % interval")]
    rows = [
        [f"{part}: {kind}", *_coverage(by_part[part], kind)]
        for part in ("folds", "few")
        for kind in ("models", "differences")
        if part in by_part
    ]
    yield Table.of(headings, rows, title="Held-out shares of the recorded runs")
    if "few" in by_part:
        yield _errors(by_part["few"])
    if "simulated" in by_part:
        yield _simulations(by_part["simulated"])


def _single_tasks(results: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Predicted chances beside the shares that passed, and squared errors beside those of plain guesses."""
    passed = np.concatenate([one["passed"] for one in results])
    guesses = {name: np.concatenate([one[name] for one in results]) for name in ("chances", "all", "own")}
    chances, rows = guesses["chances"], []
    for low, high in itertools.pairwise(_CHANCES):
        chosen = (chances >= low) & ((chances < high) | (high == _CHANCES[-1]))
        if chosen.any():
            error = np.sqrt((chances[chosen] * (1 - chances[chosen])).sum()) / chosen.sum()
            rows.append([
                f"{low:.0%} to {high:.0%}", f"{chosen.sum():,}", f"{chances[chosen].mean():.1%}",
                f"{passed[chosen].mean():.1%}", f"{error:.1%}",
            ])  # fmt: skip
    headings = ["predicted chance", *numbers("cells", "mean chance", "passed", "standard error")]
    yield Table.of(headings, rows, title="Each task left out by itself")
    names = {"chances": "recommend", "all": "the model's share of all other tasks", "own": "its share of tasks alike"}
    errors = [[words, f"{np.square(guesses[name] - passed).mean():.4f}"] for name, words in names.items()]
    yield Table.of(["prediction", *numbers("Brier score")], errors, title="Squared error of a task's outcome")


def _coverage(results: Sequence[tuple[Unit, Mapping[str, Any]]], kind: str) -> list[str]:
    """Number of cells, and shares within the intervals, each with its standard error over repeats or libraries."""
    groups: dict[object, list[float]] = {}
    for unit, one in results:
        groups.setdefault(unit.what if unit.part == "few" else unit.seed, []).extend(one[kind])
    cells = [f"{sum(map(len, groups.values())):,}"]
    for level in _LEVELS:
        shares = [np.mean([abs(place - 0.5) <= level / 2 for place in places]) for places in groups.values()]
        cells.append(_with_error(shares, 100, " %"))
    return cells


def _errors(results: Sequence[tuple[Unit, Mapping[str, Any]]]) -> Table:
    """Root mean squares of the errors, in points."""
    rows = []
    for library in dict.fromkeys(unit.what for unit, _ in results):
        ones = [one for unit, one in results if unit.what == library]
        squares = {name: np.mean([np.square(one[name]) for one in ones]) for name in ("pooled", "own", "all")}
        rows.append([library, *squares.values()])
    rows.append(["all", *np.mean([row[1:] for row in rows], axis=0)])
    rows = [[library, *(f"{100 * square**0.5:.1f}" for square in squares)] for library, *squares in rows]
    headings = ["library", *numbers("recommend", "the five tasks alone", "all other tasks")]
    return Table.of(headings, rows, title="Error of the predicted share where five tasks are known, points")


def _simulations(results: Sequence[tuple[Unit, Mapping[str, Any]]]) -> Table:
    rows = []
    for size in dict.fromkeys(unit.what for unit, _ in results):
        ones = [one for unit, one in results if unit.what == size]
        deviations = np.mean([one["deviations"] for one in ones], axis=0)
        rows.append([
            size,
            *(_with_error([one[name] for one in ones], 100, " %") for name in ("within", "hits", "stated")),
            f"{np.mean([one['seconds'] for one in ones]):.1f}",
            ", ".join(f"{one:.2f}" for one in deviations),
        ])  # fmt: skip
    headings = ["models", *numbers("in the 95 % interval", "best named", "stated", "CPU s", "deviations learnt")]
    truth = ", ".join(f"{one:.2f}" for one in _TRUTH)
    return Table.of(headings, rows, title=f"Simulated models (true deviations {truth})")


def _with_error(values: Sequence[float], scale: float, unit: str) -> str:
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{scale * np.mean(values):.1f} ± {scale * error:.1f}{unit}"


if __name__ == "__main__":
    main()
