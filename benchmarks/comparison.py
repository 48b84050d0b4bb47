"""Measure the coverage of the 95 % interval of a difference, and how often equal models are called different.

    python benchmarks/comparison.py [--repeats 2000] [--rounds 1000] [--tasks 40 148 1140] [--out FILE.json]

Tasks are drawn from a population whose true difference is known. Each task has a difficulty, which determines the
probability that a sample passes. For each setting a table row shows the share of repeats whose interval holds the true
difference (should be 95 %), the shares that lie wholly below or above it, the mean width, and the share with p < 0.05.
The plain percentile bootstrap is shown for comparison.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bigcodeflow.results.comparison.paired_tests import (
    bootstrap_sums,
    mcnemar,
    mean_interval,
    score_interval,
    sign_flip_p,
)
from bigcodeflow.results.statistics import Interval, pass_at_k


class Setting(NamedTuple):
    """One population and one size of the benchmark."""

    n_tasks: int
    n_samples: int
    k: int
    strengths: tuple[float, float]
    """Log odds of each model on a task of medium difficulty."""
    spread: float
    """Standard deviation of the tasks' difficulties, in log odds."""


#: Full, Hard and a slice; models far apart, close and equal; tasks that do and do not separate the models.
SETTINGS = tuple(
    Setting(n_tasks, n_samples, k, strengths, spread)
    for n_tasks in (7, 20, 40, 148, 1140)
    for n_samples, k in ((1, 1), (10, 1), (10, 5))
    for strengths, spread in (((0.4, 0.0), 2.0), ((0.0, 0.0), 2.0), ((-3.0, -3.5), 1.0))
)


class Outcome(NamedTuple):
    """Result of one repeat: position of each interval relative to the truth, and the p-value."""

    ours: int
    """-1: the interval lies below the truth; 0: it holds the truth; 1: it lies above."""
    plain: int
    width: float
    p: float


def main() -> None:
    arguments = _arguments()
    rows = []
    print("tasks n k  apart    true  held  below above  width  plain  p<0.05")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for setting in (one for one in SETTINGS if one.n_tasks in arguments.tasks):
            row = _row(setting, arguments, pool)
            rows.append(row)
            print(_line(setting, row), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=2))


def _row(setting: Setting, arguments: argparse.Namespace, pool: ProcessPoolExecutor) -> dict[str, object]:
    began = time.perf_counter()
    truth = true_difference(setting)
    repeat = partial(one_repeat, setting, truth, arguments.rounds)
    outcomes = list(pool.map(repeat, range(arguments.repeats), chunksize=50))
    count = len(outcomes)
    return {
        **setting._asdict(),
        "true_difference": truth,
        "held": sum(one.ours == 0 for one in outcomes) / count,
        "below": sum(one.ours < 0 for one in outcomes) / count,
        "above": sum(one.ours > 0 for one in outcomes) / count,
        "mean_width": math.fsum(one.width for one in outcomes) / count,
        "plain_held": sum(one.plain == 0 for one in outcomes) / count,
        "significant": sum(one.p < 0.05 for one in outcomes) / count,
        "repeats": count,
        "seconds": time.perf_counter() - began,
    }


def _line(setting: Setting, row: dict[str, object]) -> str:
    apart = setting.strengths[0] - setting.strengths[1]
    return (
        f"{setting.n_tasks:5} {setting.n_samples:2} {setting.k} {apart:5.1f} {row['true_difference']:8.4f}"
        f" {100 * row['held']:5.1f} {100 * row['below']:5.1f} {100 * row['above']:5.1f}"
        f" {100 * row['mean_width']:6.2f} {100 * row['plain_held']:6.1f} {100 * row['significant']:6.1f}"
    )


def one_repeat(setting: Setting, truth: float, rounds: int, seed: int) -> Outcome:
    """Draw tasks and answers, and check if the intervals hold the truth."""
    differences = list(_differences(setting, random.Random(seed)))
    drawn = seed + 10**9  # the random numbers that made the data must not be drawn again here
    [sums] = bootstrap_sums([differences], rounds=rounds, seed=drawn)
    plain = Interval(*np.quantile(sums / setting.n_tasks, (0.025, 0.975)))
    if setting.n_samples == 1:
        alone = differences.count(1.0), differences.count(-1.0)
        ours, p = score_interval(*alone, setting.n_tasks), mcnemar(*alone)
    else:
        ours = mean_interval(differences, rounds=rounds, seed=drawn)
        p = sign_flip_p(differences, rounds=rounds, seed=drawn)
    return Outcome(_side(ours, truth), _side(plain, truth), ours.high - ours.low, p)


def true_difference(setting: Setting, steps: int = 20_001) -> float:
    """Return the difference of expected pass@k over all difficulties: trapezoidal rule over +-8 standard deviations.

    The expected unbiased pass@k of a task whose samples pass with probability p is 1 - (1 - p)^k.
    """
    width = 16 / (steps - 1)
    total = 0.0
    for step in range(steps):
        place = -8 + step * width
        density = math.exp(-place * place / 2) / math.sqrt(2 * math.pi)
        first, second = (_logistic(strength + setting.spread * place) for strength in setting.strengths)
        total += density * ((1 - second) ** setting.k - (1 - first) ** setting.k) * width
    return total


def _differences(setting: Setting, generator: random.Random) -> Iterator[float]:
    for _ in range(setting.n_tasks):
        ease = generator.gauss(0, setting.spread)
        scores = []
        for strength in setting.strengths:
            chance = _logistic(strength + ease)
            passed = sum(generator.random() < chance for _ in range(setting.n_samples))
            scores.append(pass_at_k(setting.n_samples, passed, setting.k))
        yield scores[0] - scores[1]


def _side(interval: Interval, truth: float) -> int:
    return -1 if interval.high < truth else int(interval.low > truth)


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=2000, help="data sets of each setting")
    parser.add_argument("--tasks", type=int, nargs="+", default=[40, 148, 1140], help="only these sizes")
    parser.add_argument("--rounds", type=int, default=1000, help="of the bootstrap; the command takes 10,000")
    parser.add_argument("--processes", type=int, default=2, help="cores to use")
    parser.add_argument("--out", type=Path, help="JSON file for the rows")
    return parser.parse_args()


if __name__ == "__main__":
    main()
