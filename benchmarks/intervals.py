"""Measure the coverage of the 95 % interval of a score.

    python benchmarks/intervals.py [--repeats 10000] [--seed 0] [--tasks 5 10 20] [--out FILE.json]

The tasks of a benchmark are drawn from a population of tasks. A task has a rate; of its n samples c pass, binomially
with that rate, or with more spread if samples of a task are correlated. The score is the mean of the unbiased pass@k,
the truth is its expectation over population and samples. Prints two Markdown tables by number of tasks and samples: the
interval that the product computes, and the same for populations with a few unlike tasks. "Rare" are cells where on
average fewer than 3 of the tasks fail (or, for a weak model, pass): data with almost no such task can look the same as
data of a perfect model.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bigcodeflow.results.statistics import clustered_interval, pass_at_k

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Population = Callable[[int], Floats]
"""Probabilities of 0 to n passed samples of a task, by n."""

TASKS = (5, 7, 10, 20, 27, 50, 148, 500, 1140)
SAMPLES = (1, 2, 5, 10, 20, 100)
KS = (1, 5, 10)
RARE = 3


class Cell(NamedTuple):
    """One population, number of tasks, number of samples and k."""

    population: str
    n_tasks: int
    n_samples: int
    k: int
    truth: float
    held: float
    """Share of the intervals that contain the truth."""
    width: float

    @property
    def rare(self) -> bool:
        return self.n_tasks * min(self.truth, 1 - self.truth) < RARE


def populations() -> dict[str, Population]:
    """Return rates with beta distributions from U-shaped to narrow, equal rates, and mixtures with exact 0 and 1."""
    found: dict[str, Population] = {}
    for mean in (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99):
        for size in (0.3, 1, 4, 20):
            found[f"beta, mean {mean}, size {size}"] = _beta(mean * size, (1 - mean) * size)
        found[f"equal rates of {mean}"] = _equal(mean)
        found[f"equal rates of {mean}, samples correlated by 0.3"] = _beta(mean * 7 / 3, (1 - mean) * 7 / 3)
    uniform = _beta(1, 1)
    found["70 % at 0, 20 % at 1, others uniform"] = _mixed((0.7, _equal(0)), (0.2, _equal(1)), (0.1, uniform))
    found["20 % at 0, 70 % at 1, others uniform"] = _mixed((0.2, _equal(0)), (0.7, _equal(1)), (0.1, uniform))
    found["45 % at 0, 45 % at 1, others uniform"] = _mixed((0.45, _equal(0)), (0.45, _equal(1)), (0.1, uniform))
    found["80 % at 0.02, 20 % at 0.9"] = _mixed((0.8, _equal(0.02)), (0.2, _equal(0.9)))
    found["90 % about 0.95, others spread about 0.3"] = _mixed((0.9, _beta(19, 1)), (0.1, _beta(0.9, 2.1)))
    return found


def hidden_minorities() -> dict[str, Population]:
    """Return populations with a few unlike tasks: most slices of 10 hold none of them, and no method can tell."""
    return {
        "95 % at 0.02, 5 % at 0.95": _mixed((0.95, _equal(0.02)), (0.05, _equal(0.95))),
        "95 % at 0.3, 5 % at 1": _mixed((0.95, _equal(0.3)), (0.05, _equal(1))),
    }


def _beta(first: float, second: float) -> Population:
    return lambda n: stats.betabinom.pmf(np.arange(n + 1), n, first, second)


def _equal(rate: float) -> Population:
    return lambda n: stats.binom.pmf(np.arange(n + 1), n, rate)


def _mixed(*parts: tuple[float, Population]) -> Population:
    return lambda n: sum((weight * part(n) for weight, part in parts), np.zeros(n + 1))


def interval(mean: Floats, squares: Floats, n_tasks: int) -> Ends:
    """Compute `clustered_interval` for many data sets at once, from the mean and the sum of squares of each."""
    student = float(stats.t.ppf(0.975, n_tasks - 1))
    unseen = (mean - 0.5) ** 2 + 1 / 12
    effect = np.clip((squares + unseen) / (n_tasks * mean * (1 - mean) + unseen), 1e-9, 1)
    total = n_tasks / effect + student**2
    centre = (mean * n_tasks / effect + student**2 / 2) / total
    half = student * np.sqrt(centre * (1 - centre) / total)
    return centre - half, centre + half


def cells(named: dict[str, Population], tasks: Sequence[int], repeats: int, seed: int) -> Iterator[Cell]:
    """Simulate all numbers of samples and k of each population; counts of tasks with c passes are multinomial."""
    generator = np.random.default_rng(seed)
    for name, population in named.items():
        for n_samples in SAMPLES:
            chances = np.clip(population(n_samples), 0, None)
            chances /= chances.sum()
            for n_tasks in tasks:
                counts = generator.multinomial(n_tasks, chances, size=repeats)
                for k in (k for k in KS if k <= n_samples):
                    worth = np.array([pass_at_k(n_samples, passed, k) for passed in range(n_samples + 1)])
                    truth = float(chances @ worth)
                    yield Cell(name, n_tasks, n_samples, k, truth, *_measured(truth, counts, worth))


def _measured(truth: float, counts: NDArray[np.int64], worth: Floats) -> tuple[float, float]:
    """Return the share of intervals that contain the truth, and their mean width; one data set per row of counts."""
    n_tasks = int(counts[0].sum())
    mean = np.clip(counts @ worth / n_tasks, 0, 1)
    squares = np.maximum(counts @ worth**2 - n_tasks * mean**2, 0)
    low, high = (np.clip(end, 0, 1) for end in interval(mean, squares, n_tasks))
    _require_same(counts[0], worth, (low[0], high[0]))
    low, high = np.minimum(low, mean), np.maximum(high, mean)
    held = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    return float(np.mean(held)), float(np.mean(high - low))


def _require_same(counts: NDArray[np.int64], worth: Floats, ends: tuple[float, float]) -> None:
    """Require that the function which the product calls gives this interval; else raise RuntimeError."""
    ours = clustered_interval(list(np.repeat(worth, counts)))
    if ours is None or not np.allclose(ours, ends, atol=1e-6):
        raise RuntimeError(f"clustered_interval gives {ours}, the simulation {ends}")


def table(found: Sequence[Cell]) -> Iterator[str]:
    """Yield minimum, median and maximum coverage in percent, by number of tasks and samples."""
    yield "| tasks | cells | 1 sample | 2 to 10 | 20 and 100 | rare: 1 sample | rare: several | mean width |"
    yield "|---|---|---|---|---|---|---|---|"
    groups: tuple[Callable[[Cell], bool], ...] = (
        lambda cell: not cell.rare and cell.n_samples == 1,
        lambda cell: not cell.rare and 1 < cell.n_samples <= 10,
        lambda cell: not cell.rare and cell.n_samples > 10,
        lambda cell: cell.rare and cell.n_samples == 1,
        lambda cell: cell.rare and cell.n_samples > 1,
    )
    for n_tasks in sorted({cell.n_tasks for cell in found}):
        here = [cell for cell in found if cell.n_tasks == n_tasks]
        texts = [_spread([cell.held for cell in here if group(cell)]) for group in groups]
        width = 100 * np.mean([cell.width for cell in here])
        yield f"| {n_tasks:,} | {len(here)} | {' | '.join(texts)} | {width:.1f} |"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    return " · ".join(f"{100 * value:.1f}" for value in (min(values), float(np.median(values)), max(values)))


def main() -> None:
    arguments = _arguments()
    found = list(cells(populations(), arguments.tasks, arguments.repeats, arguments.seed))
    hidden = list(cells(hidden_minorities(), arguments.tasks, arguments.repeats, arguments.seed))
    print(f"{len(found):,} cells, {arguments.repeats:,} repeats, seed {arguments.seed}\n")
    for title, shown in (("Least, median and greatest coverage, percent", found), ("Hidden minorities", hidden)):
        print(title, "", *table(shown), "", sep="\n", flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps([cell._asdict() for cell in [*found, *hidden]]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10_000, help="data sets of each cell")
    parser.add_argument("--seed", type=int, default=0, help="of NumPy's generator")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(TASKS), help="only these sizes")
    parser.add_argument("--out", type=Path, help="JSON file for the cells")
    return parser.parse_args()


if __name__ == "__main__":
    main()
