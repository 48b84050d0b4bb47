"""Measure the coverage of the 95 % interval of a score, for several ways to compute it.

    python benchmarks/intervals.py [--repeats 10000] [--seed 0] [--tasks 5 10 20] [--out FILE.json]

The tasks of a benchmark are drawn from a population of tasks. A task has a rate; of its n samples c pass, binomially
with that rate, or with more spread if samples of a task are correlated. The score is the mean of the unbiased pass@k,
the truth is its expectation over population and samples. Prints Markdown tables: the chosen method by number of tasks
and samples, and every method tried. "Rare" are cells where on average fewer than 3 of the tasks fail (or, for a weak
model, pass): data with almost no such task can look the same as data of a perfect model.
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
CHOSEN = "chosen"
Z = float(stats.norm.ppf(0.975))


class Cell(NamedTuple):
    """One population, number of tasks, number of samples and k."""

    population: str
    n_tasks: int
    n_samples: int
    k: int
    truth: float
    held: dict[str, float]
    width: dict[str, float]

    @property
    def rare(self) -> bool:
        return self.n_tasks * min(self.truth, 1 - self.truth) < RARE


class Drawn(NamedTuple):
    """Inputs of the methods for each repeat: mean, sum of squares and third moment of the tasks' scores."""

    n_tasks: int
    mean: Floats
    squares: Floats
    skewness: Floats


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


def _agresti_coull(mean: Floats, size: Floats | float, quantile: float) -> Ends:
    total = size + quantile**2
    centre = (mean * size + quantile**2 / 2) / total
    half = quantile * np.sqrt(centre * (1 - centre) / total)
    return centre - half, centre + half


def _wilson(mean: Floats, size: Floats | float, quantile: float) -> Ends:
    spread = quantile**2 / size
    half = np.sqrt(spread * (mean * (1 - mean) + spread / 4)) / (1 + spread)
    centre = (mean + spread / 2) / (1 + spread)
    return centre - half, centre + half


def _exact(mean: Floats, size: Floats, before: float) -> Ends:
    """Return quantiles of beta distributions: Clopper-Pearson's for before = 0, Jeffreys' for 1/2."""
    passed, failed = mean * size, (1 - mean) * size
    low = stats.beta.ppf(0.025, np.maximum(passed + before, 1e-9), failed + 1 - before)
    high = stats.beta.ppf(0.975, passed + 1 - before, np.maximum(failed + before, 1e-9))
    return np.where(passed > 0, low, 0.0), np.where(failed > 0, high, 1.0)


def methods(drawn: Drawn, *, slow: bool) -> Iterator[tuple[str, Ends]]:
    """Yield the interval ends of each method for all repeats; methods that need beta quantiles only if `slow`."""
    n_tasks, mean, squares, _ = drawn
    student = float(stats.t.ppf(0.975, n_tasks - 1))
    error = np.sqrt(squares / (n_tasks - 1) / n_tasks)
    most = n_tasks * mean * (1 - mean)
    agree = squares < 1e-12
    plain = np.where(most < 1e-12, 1.0, np.minimum(1, squares * n_tasks / (n_tasks - 1) / np.maximum(most, 1e-300)))
    size = n_tasks / np.maximum(plain, 1e-9)
    size = np.where(agree, n_tasks, size)
    alone = _wilson(mean, n_tasks, Z)
    before = (np.where(agree, alone[0], mean - Z * error), np.where(agree, alone[1], mean + Z * error))
    yield "normal, z (before)", before
    yield (
        "normal, t",
        (np.where(agree, alone[0], mean - student * error), np.where(agree, alone[1], mean + student * error)),
    )
    yield "logit, t", _logit(mean, error, student, alone, agree=agree)
    yield "arcsine, t", _arcsine(mean, size, student)
    yield "Johnson, t for skewness", _johnson(drawn, student, error, alone)
    yield "Wilson, z, effective size", _wilson(mean, size, Z)
    yield "Wilson, t, effective size", _wilson(mean, size, student)
    yield "Agresti-Coull, z, effective size", _agresti_coull(mean, size, Z)
    yield "Agresti-Coull, t, effective size", _agresti_coull(mean, size, student)
    yield "Agresti-Coull, t, all tasks as one sample", _agresti_coull(mean, n_tasks, student)
    if slow:
        korn_graubard = np.minimum(n_tasks, size * (Z / student) ** 2)
        yield "Clopper-Pearson, Korn and Graubard's size, at most N", _exact(mean, korn_graubard, 0)
        yield "Clopper-Pearson, Korn and Graubard's size", _exact(mean, size * (Z / student) ** 2, 0)
        yield "Jeffreys, Korn and Graubard's size", _exact(mean, size * (Z / student) ** 2, 0.5)
    for name, unseen in (("1/8", 1 / 8), ("1/4", 1 / 4), ("(m - 1/2)^2", (mean - 0.5) ** 2)):
        yield f"Agresti-Coull, t, {name} added", _agresti_coull(mean, n_tasks / _effect(squares, most, unseen), student)
    effect = _effect(squares, most, (mean - 0.5) ** 2 + 1 / 12)
    yield "Wilson, t, one task added", _wilson(mean, n_tasks / effect, student)
    yield "Agresti-Coull, z, one task added", _agresti_coull(mean, n_tasks / effect, Z)
    yield (
        "Agresti-Coull, t of 2 (N - 1), one task added",
        _agresti_coull(mean, n_tasks / effect, float(stats.t.ppf(0.975, 2 * (n_tasks - 1)))),
    )
    yield CHOSEN, _agresti_coull(mean, n_tasks / effect, student)


def _effect(squares: Floats, most: Floats, unseen: Floats | float) -> Floats:
    whole = most + unseen
    return np.where(whole < 1e-12, 1.0, np.clip((squares + unseen) / np.maximum(whole, 1e-12), 1e-9, 1))


def _logit(mean: Floats, error: Floats, student: float, alone: Ends, *, agree: NDArray[np.bool_]) -> Ends:
    inside = np.clip(mean, 1e-12, 1 - 1e-12)
    odds, half = np.log(inside / (1 - inside)), student * error / (inside * (1 - inside))
    low, high = (1 / (1 + np.exp(-np.clip(odds + sign * half, -700, 700))) for sign in (-1, 1))
    return np.where(agree, alone[0], low), np.where(agree, alone[1], high)


def _arcsine(mean: Floats, size: Floats, student: float) -> Ends:
    """Return the arcsine interval, with 3/8 added to passes and to failures (Anscombe 1948)."""
    angle = np.arcsin(np.sqrt((mean * size + 0.375) / (size + 0.75)))
    half = student / (2 * np.sqrt(size + 0.5))
    low, high = (np.sin(np.clip(angle + sign * half, 0, np.pi / 2)) ** 2 for sign in (-1, 1))
    return low, high


def _johnson(drawn: Drawn, student: float, error: Floats, alone: Ends) -> Ends:
    """Return the interval of Johnson 1978: the mean is shifted by the third moment over 6 s^2 N."""
    shift = drawn.skewness * np.sqrt(drawn.squares / (drawn.n_tasks - 1)) / (6 * drawn.n_tasks)
    agree = drawn.squares < 1e-12
    middle = drawn.mean + shift
    return (
        np.where(agree, alone[0], middle - student * error),
        np.where(agree, alone[1], middle + student * error),
    )


def bootstraps(scores: Floats, rounds: int, generator: np.random.Generator) -> Iterator[tuple[str, Ends]]:
    """Yield percentile, percentile-t and BCa intervals for one row of scores per repeat, in the format of `methods`."""
    repeats, n_tasks = scores.shape
    mean = scores.mean(axis=1)
    error = scores.std(axis=1, ddof=1) / np.sqrt(n_tasks)
    means, ts = np.empty((repeats, rounds)), np.empty((repeats, rounds))
    for number in range(rounds):
        again = np.take_along_axis(scores, generator.integers(n_tasks, size=scores.shape), axis=1)
        means[:, number] = again.mean(axis=1)
        spread = again.std(axis=1, ddof=1) / np.sqrt(n_tasks)
        ts[:, number] = (means[:, number] - mean) / np.maximum(spread, 1e-3 / n_tasks)
    yield "bootstrap, percentile", tuple(np.quantile(means, (0.025, 0.975), axis=1))
    ends = np.quantile(ts, (0.025, 0.975), axis=1)
    yield "bootstrap, percentile-t", (mean - ends[1] * error, mean - ends[0] * error)
    below = (means < mean[:, None]).mean(axis=1) + (means == mean[:, None]).mean(axis=1) / 2
    bias = stats.norm.ppf(np.clip(below, 1 / rounds, 1 - 1 / rounds))
    centred = scores - mean[:, None]
    squares = np.maximum((centred**2).sum(axis=1), 1e-12)
    acceleration = (centred**3).sum(axis=1) / (6 * squares**1.5)
    places = [stats.norm.cdf(bias + (bias + sign * Z) / (1 - acceleration * (bias + sign * Z))) for sign in (-1, 1)]
    means.sort(axis=1)
    low, high = (
        np.take_along_axis(means, np.clip(place * rounds, 0, rounds - 1).astype(int)[:, None], axis=1)[:, 0]
        for place in places
    )
    yield "bootstrap, BCa", (low, high)


def cells(
    named: dict[str, Population], tasks: Sequence[int], repeats: int, seed: int, rounds: int = 0
) -> Iterator[Cell]:
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
                    found = dict(methods(_drawn(counts, worth, n_tasks), slow=not rounds and n_tasks <= 50))
                    if rounds:
                        scores = np.array([np.repeat(worth, row) for row in counts])
                        found |= dict(bootstraps(scores, rounds, generator))
                    _require_chosen(counts[0], worth, found)
                    held, width = _measured(float(chances @ worth), counts @ worth / n_tasks, found)
                    yield Cell(name, n_tasks, n_samples, k, float(chances @ worth), held, width)


def _drawn(counts: NDArray[np.int64], worth: Floats, n_tasks: int) -> Drawn:
    mean = np.clip(counts @ worth / n_tasks, 0, 1)
    squares = np.maximum(counts @ worth**2 - n_tasks * mean**2, 0)
    squares[squares < 1e-11] = 0
    third = counts @ worth**3 / n_tasks - 3 * mean * squares / n_tasks - mean**3
    return Drawn(n_tasks, mean, squares, third / np.maximum((squares / n_tasks) ** 1.5, 1e-12))


def _require_chosen(counts: NDArray[np.int64], worth: Floats, found: dict[str, Ends]) -> None:
    """Require that the function which the product calls gives the interval of the table; else raise RuntimeError."""
    ours = clustered_interval(list(np.repeat(worth, counts)))
    theirs = [float(end[0]) for end in found[CHOSEN]]
    if ours is None or not np.allclose(ours, np.clip(theirs, 0, 1), atol=1e-6):
        raise RuntimeError(f"clustered_interval gives {ours}, the simulation {theirs}")


def _measured(truth: float, mean: Floats, found: dict[str, Ends]) -> tuple[dict[str, float], dict[str, float]]:
    """Return for each method the share of intervals that hold the truth, and the mean width."""
    held, width = {}, {}
    for method, (low, high) in found.items():
        lower, upper = np.clip(np.minimum(low, mean), 0, 1), np.clip(np.maximum(high, mean), 0, 1)
        held[method] = float(np.mean((lower <= truth + 1e-12) & (truth - 1e-12 <= upper)))
        width[method] = float(np.mean(upper - lower))
    return held, width


def chosen_table(found: Sequence[Cell]) -> Iterator[str]:
    """Yield minimum, median and maximum coverage in percent of the chosen method, by number of tasks and samples."""
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
        texts = [_spread([cell.held[CHOSEN] for cell in here if group(cell)]) for group in groups]
        width = 100 * np.mean([cell.width[CHOSEN] for cell in here])
        yield f"| {n_tasks:,} | {len(here)} | {' | '.join(texts)} | {width:.1f} |"


def methods_table(found: Sequence[Cell], tasks: Sequence[int]) -> Iterator[str]:
    """Yield the least coverage of each method by number of tasks, shares of cells outside 94 to 97 %, mean width."""
    usual = [cell for cell in found if cell.n_tasks >= 10]
    yield f"| method | {' | '.join(f'N = {n:,}' for n in tasks)} | below 94 | above 97 | width |"
    yield f"|---|{'---|' * (len(tasks) + 3)}"
    names = dict.fromkeys(method for cell in found for method in cell.held)
    for method in names:
        known = [cell for cell in found if method in cell.held]
        least = [
            f"{100 * min(values):.1f}" if (values := [c.held[method] for c in known if c.n_tasks == n]) else ""
            for n in tasks
        ]
        judged = np.array([cell.held[method] for cell in usual if method in cell.held])
        low, high = (100 * np.mean(judged < 0.94), 100 * np.mean(judged > 0.97)) if len(judged) else (np.nan, np.nan)
        width = 100 * np.mean([cell.width[method] for cell in known])
        yield f"| {method} | {' | '.join(least)} | {low:.0f} % | {high:.0f} % | {width:.1f} |"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    return " · ".join(f"{100 * value:.1f}" for value in (min(values), float(np.median(values)), max(values)))


def main() -> None:
    arguments = _arguments()
    found = list(cells(populations(), arguments.tasks, arguments.repeats, arguments.seed))
    hidden = list(cells(hidden_minorities(), arguments.tasks, arguments.repeats, arguments.seed))
    few, some = [n for n in arguments.tasks if n in {10, 20, 50}], dict(list(populations().items())[::4])
    drawn = list(cells(some, few, arguments.bootstrap_repeats, arguments.seed, arguments.rounds)) if few else []
    print(f"{len(found):,} cells, {arguments.repeats:,} repeats, seed {arguments.seed}\n")
    for title, lines in (
        ("Chosen: least, median and greatest coverage, percent", chosen_table(found)),
        ("Hidden minorities", chosen_table(hidden)),
        ("Methods, all cells: least coverage, percent", methods_table(found, arguments.tasks)),
        ("Methods, cells that are not rare", methods_table([c for c in found if not c.rare], arguments.tasks)),
        (
            "Bootstraps and others, a quarter of the populations, cells that are not rare",
            methods_table([c for c in drawn if not c.rare], few),
        ),
    ):
        print(title, "", *lines, "", sep="\n", flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps([cell._asdict() for cell in [*found, *hidden, *drawn]]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10_000, help="data sets of each cell")
    parser.add_argument("--seed", type=int, default=0, help="of NumPy's generator")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(TASKS), help="only these sizes")
    parser.add_argument("--rounds", type=int, default=300, help="of the bootstraps")
    parser.add_argument("--bootstrap-repeats", type=int, default=400, help="data sets of each of their cells")
    parser.add_argument("--out", type=Path, help="JSON file for the cells")
    return parser.parse_args()


if __name__ == "__main__":
    main()
