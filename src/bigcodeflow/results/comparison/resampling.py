"""Tasks drawn again and again: the bootstrap over tasks and the sign-flip test.

Random numbers are words of Python's Mersenne Twister, which gives the same ones for a seed on every machine and in
every version; polars adds up what they draw, 10,000 rounds over 1,140 tasks in a fraction of a second.
"""

import math
import random
from array import array
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from bigcodeflow.results.statistics import student_quantile

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

#: Rounds of the bootstrap and of the sign-flip test: the ends of an interval then move by about 1 % with the seed.
ROUNDS = 10_000

_DRAWS_AT_ONCE = 2_000_000  # 50 MB of memory
_ROUNDING = 1e-9  # sums of the same numbers in another order are the same sum


class Range(NamedTuple):
    """Both ends of a 95 % interval."""

    low: float
    high: float


def bootstrap_sums(columns: Sequence[Sequence[float]], *, rounds: int, seed: int) -> list[list[float]]:
    """Sums of each column over as many rows drawn with replacement; a list of ``rounds`` sums a column.

    A row is a task, and a round draws the same tasks in every column, so that sums of a round can be set against each
    other. A word w of 32 bits draws row floor(w n / 2^32), which prefers no row by more than n / 2^32.
    """
    import polars as pl
    import pyarrow as pa

    n_rows = len(columns[0])
    values = [pl.Series(column, dtype=pl.Float64, strict=False) for column in columns]
    sums: list[list[float]] = [[] for _ in columns]
    generator = random.Random(seed)  # noqa: S311 - statistics, no secrets
    for n_rounds in _portions(rounds, n_rows):
        words = _drawn(generator, pa.uint32(), n_rounds * n_rows)
        rows = (words.cast(pl.UInt64) * n_rows) // (1 << 32)
        for series, collected in zip(values, sums, strict=True):
            collected.extend(series.gather(rows).reshape((n_rounds, n_rows)).arr.sum())
    return sums


def difference_intervals(
    scores: Sequence[Sequence[float]], pairs: Sequence[tuple[int, int]], *, rounds: int = ROUNDS, seed: int = 0
) -> list[Range]:
    """95 % intervals of mean differences of per-task scores in 0..1, by the bootstrap over tasks.

    Two tasks that speak against each other are added to each pair: one for the first model and one for the second, as
    large as the root mean square of the differences that are not 0. Without them, four tasks that all favour one model
    would give an interval that excludes 0, where McNemar's p is 0.125, and no such task an interval without width.
    Source of the two tasks, for differences of 0 and 1: Bonett and Price 2012, "Adjusted Wald Confidence Interval for
    a Difference of Binomial Proportions Based on Paired Data"; of the percentile interval: Efron 1979. Its quantiles
    are those that the normal distribution has at sqrt(n / (n - 1)) times Student's t, as few tasks leave their own
    spread uncertain: the expanded percentile interval of Hesterberg 2015, "What Teachers Should Know About the
    Bootstrap". benchmarks/comparison.py measures how often the interval holds the truth.

    Args:
        scores: one row a model, one column a task.
        pairs: places of the first and the second model of each difference.
        rounds: of the bootstrap.
        seed: of the bootstrap.
    """
    import polars as pl

    n_tasks = len(scores[0])
    # All pairs share the draws, and a sum of differences is the difference of sums: 20 models cost 20 columns, not 190.
    columns = [*([*row, 0.0, 0.0] for row in scores), [0.0] * n_tasks + [1.0, -1.0]]
    *drawn, speaking = map(pl.Series, bootstrap_sums(columns, rounds=rounds, seed=seed))
    tail = NormalDist().cdf(-student_quantile(n_tasks - 1) * math.sqrt(n_tasks / max(1, n_tasks - 1)))
    found = []
    for first, second in pairs:
        differences = [a - b for a, b in zip(scores[first], scores[second], strict=True)]
        moved = [value for value in differences if abs(value) > _ROUNDING]
        size = math.sqrt(math.fsum(value * value for value in moved) / len(moved)) if moved else 1.0
        mean = math.fsum(differences) / n_tasks
        means = ((drawn[first] - drawn[second] + size * speaking) / (n_tasks + 2)).sort()
        ends = Range(_quantile(means, tail), _quantile(means, 1 - tail))
        # The added tasks pull towards 0: where one model solves every task, the interval would miss the mean.
        found.append(Range(max(-1.0, min(mean, ends.low)), min(1.0, max(mean, ends.high))))
    return found


def mean_interval(differences: Sequence[float], *, rounds: int = ROUNDS, seed: int = 0) -> Range:
    """The interval of :func:`difference_intervals` for one pair whose per-task differences in -1..1 are known."""
    [found] = difference_intervals([differences, [0.0] * len(differences)], [(0, 1)], rounds=rounds, seed=seed)
    return found


def sign_flip_ps(
    scores: Sequence[Sequence[float]], pairs: Sequence[tuple[int, int]], *, rounds: int = ROUNDS, seed: int = 0
) -> list[float]:
    """Two-sided p of the paired permutation test for each pair: were the two models exchanged on each task by a coin.

    The share of rounds whose mean difference lies as far from 0 as the observed one, itself counted as a round, so
    that p is never 0 and at least 1 / (rounds + 1). With one sample a task it estimates McNemar's exact p.
    Source: Fisher 1935, The Design of Experiments, section 21; Phipson and Smyth 2010 for the added round.

    Args:
        scores: one row a model, one column a task.
        pairs: places of the first and the second model of each difference.
        rounds: of the test.
        seed: of the test.
    """
    import polars as pl

    kept = [pl.Series(sums, dtype=pl.Float64) for sums in _coin_sums(scores, rounds=rounds, seed=seed)]
    found = []
    for first, second in pairs:
        differences = [a - b for a, b in zip(scores[first], scores[second], strict=True)]
        total = math.fsum(differences)
        observed = abs(total) - _ROUNDING
        as_far = int(((2 * (kept[first] - kept[second]) - total).abs() >= observed).sum())
        found.append((1 + as_far) / (1 + rounds))
    return found


def sign_flip_p(differences: Sequence[float], *, rounds: int = ROUNDS, seed: int = 0) -> float:
    """The p of :func:`sign_flip_ps` for one pair whose per-task differences are known."""
    if not differences:
        return 1.0
    [found] = sign_flip_ps([differences, [0.0] * len(differences)], [(0, 1)], rounds=rounds, seed=seed)
    return found


def _coin_sums(columns: Sequence[Sequence[float]], *, rounds: int, seed: int) -> list[list[float]]:
    """Sums of each column over the rows whose coin fell on heads; the same coins for every column."""
    import polars as pl
    import pyarrow as pa

    n_rows = len(columns[0])
    sums: list[list[float]] = [[] for _ in columns]
    generator = random.Random(seed)  # noqa: S311 - statistics, no secrets
    for n_rounds in _portions(rounds, n_rows):
        coins = (_drawn(generator, pa.uint8(), n_rounds * n_rows) & 1).cast(pl.Float64)
        for column, collected in zip(columns, sums, strict=True):
            tiled = _series(pa.float64(), (array("d", column) * n_rounds).tobytes())
            collected.extend((coins * tiled).reshape((n_rounds, n_rows)).arr.sum())
    return sums


def percentile_range(values: Sequence[float]) -> Range:
    """The 2.5 % and the 97.5 % quantile, interpolated between neighbours."""
    ordered = sorted(values)
    return Range(_quantile(ordered, 0.025), _quantile(ordered, 0.975))


def _quantile(ordered: "Sequence[float] | pl.Series", share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def _portions(rounds: int, n_rows: int) -> Iterator[int]:
    """The rounds in portions that fit in memory; the draws are the same however they are cut."""
    most = max(4, _DRAWS_AT_ONCE // n_rows & ~3)  # a multiple of 4 uses up whole words of the generator
    while rounds > 0:
        yield min(rounds, most)
        rounds -= most


def _drawn(generator: random.Random, kind: "pa.DataType", count: int) -> "pl.Series":
    return _series(kind, generator.randbytes(count * kind.bit_width // 8))


def series_of(values: Sequence[float]) -> "pl.Series":
    """Numbers as a column."""
    import pyarrow as pa

    return _series(pa.float64(), array("d", values).tobytes())


def _series(kind: "pa.DataType", content: bytes) -> "pl.Series":
    import polars as pl
    import pyarrow as pa

    width = kind.bit_width // 8
    return pl.Series(pa.Array.from_buffers(kind, len(content) // width, [None, pa.py_buffer(content)]))
