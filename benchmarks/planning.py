"""Measure how often the paired test detects a difference as `bigcodeflow plan` promised.

    python benchmarks/planning.py [--repeats 2000] [--rounds 1000]

Tasks are drawn from a population whose true difference and variances are known. Each row takes the number of tasks that
the plan asks for at a power of 80 %, and shows how often the test of `bigcodeflow compare` is significant: over all
outcomes for one sample per task, over the repeats for several.
"""

import argparse
import math
import random
from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

from bigcodeflow.results import planning
from bigcodeflow.results.comparison.paired_tests import sign_flip_p
from bigcodeflow.results.comparison.run_selection import TaskCounts
from bigcodeflow.results.planning import Question, Variances


class Population(NamedTuple):
    """Tasks with two pass rates each: logistic of a model's strength, the task's ease and a model-specific effect."""

    strengths: tuple[float, float]
    spread: float
    """Standard deviation of the tasks' ease, in log odds."""
    own: float
    """Standard deviation of the effect of a task that is specific to one model, in log odds."""

    def rates(self, generator: random.Random) -> tuple[float, float]:
        ease = generator.gauss(0, self.spread)
        first, second = (1 / (1 + math.exp(-(one + ease + generator.gauss(0, self.own)))) for one in self.strengths)
        return first, second


#: Models 9 to 10 and 4 to 5 points apart that differ in the tasks they solve; two weak models; two similar models.
POPULATIONS = (
    Population((0.8, 0.0), 1.5, 1.5),
    Population((0.4, 0.0), 1.5, 1.5),
    Population((-2.0, -3.0), 1.5, 1.0),
    Population((0.4, 0.0), 2.0, 0.3),
)
_SAMPLES = (1, 2, 5, 20)
_DRAWS_FOR_TRUTH = 400_000


def main() -> None:
    arguments = _arguments()
    print("population                    points  samples   tasks  promised  found, %")
    for population in POPULATIONS:
        difference, variances = truth(population)
        question = Question(variances)
        for n_samples in _SAMPLES:
            n_tasks = planning.tasks_needed(question, difference, n_samples)
            promised = planning.power(question, difference, n_tasks, n_samples)
            if n_samples == 1:
                found = exact_power(n_tasks, difference, sum(variances) + difference * difference)
            else:
                found = found_share(population, n_tasks, n_samples, repeats=arguments.repeats, rounds=arguments.rounds)
            print(
                f"{population!s:.28} {100 * difference:7.2f} {n_samples:8} {n_tasks:7} "
                f"{100 * promised:9.1f} {100 * found:9.1f}",
                flush=True,
            )


def truth(population: Population, draws: int = _DRAWS_FOR_TRUTH) -> tuple[float, Variances]:
    """Compute difference and variances of a population from many tasks whose rates are known."""
    generator = random.Random(10**6)
    rates = [population.rates(generator) for _ in range(draws)]
    difference = fmean(first - second for first, second in rates)
    between = fmean((first - second - difference) ** 2 for first, second in rates)
    return difference, Variances(between, fmean(p * (1 - p) for pair in rates for p in pair) * 2)


def exact_power(n_tasks: int, difference: float, discordant: float) -> float:
    """Return the probability that McNemar's exact test has p < 0.05, over all outcomes with one sample per task.

    Args:
        n_tasks: tasks that both models answer.
        difference: true difference of pass@1.
        discordant: probability that exactly one of the two models solves a task.
    """
    favour, power = (discordant + difference) / (2 * discordant), 0.0
    middle, far = n_tasks * discordant, 6 * math.sqrt(n_tasks * discordant)
    for n in range(max(0, int(middle - far)), min(n_tasks, int(middle + far)) + 1):
        found, ways, fewer = 0.0, 0, 0
        while 40 * (ways := ways + math.comb(n, fewer)) < 1 << n:  # twice the tail is below 0.05
            found += _binomial(n, fewer, favour) + _binomial(n, n - fewer, favour)
            fewer += 1
        power += _binomial(n_tasks, n, discordant) * found
    return power


def found_share(population: Population, n_tasks: int, n_samples: int, *, repeats: int, rounds: int) -> float:
    """Return the share of data sets with several samples per task in which the sign-flip test detects a difference."""
    found = 0
    for seed in range(repeats):
        pairs = _passes(population, n_tasks, n_samples, random.Random(f"{n_samples} {seed}"))
        differences = [(first - second) / n_samples for first, second in pairs]
        found += sign_flip_p(differences, rounds=rounds, seed=seed + 10**9) < 0.05
    return found / repeats


def pilot(population: Population, n_tasks: int, n_samples: int, seed: int) -> Variances:
    """Return the variances that a plan estimates from two recorded runs over tasks of the population."""
    counts = list(_passes(population, n_tasks, n_samples, random.Random(f"{n_samples} {seed}")))
    return planning.pair_variances(
        [[_task(number, n_samples, pair[side]) for number, pair in enumerate(counts)] for side in (0, 1)]
    )


def _passes(
    population: Population, n_tasks: int, n_samples: int, generator: random.Random
) -> Iterator[tuple[int, int]]:
    for _ in range(n_tasks):
        first, second = (
            sum(generator.random() < rate for _ in range(n_samples)) for rate in population.rates(generator)
        )
        yield first, second


def _binomial(n: int, count: int, chance: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
    return math.exp(ways + count * math.log(chance) + (n - count) * math.log(1 - chance))


def _task(number: int, n_samples: int, n_passed: int) -> TaskCounts:
    facts = {"test_sha256": "", "libs": (), "domains": (), "hard": False, "prompt_characters": 0}
    counted = {"n_given": n_samples, "n_judged": n_samples, "n_passed": n_passed}
    return TaskCounts(task_id=str(number), position=number, **facts, **counted)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=2000, help="data sets of each row")
    parser.add_argument("--rounds", type=int, default=1000, help="of the sign-flip test; the command takes 10,000")
    return parser.parse_args()


if __name__ == "__main__":
    main()
