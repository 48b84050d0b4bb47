"""Scores that BigCodeBench's own leaderboard publishes. See data/leaderboard/README.md."""

import csv
import itertools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, get_args

from bigcodeflow.config import Split, Subset
from bigcodeflow.core.paths import shipped

N_TASKS: Mapping[Subset, int] = MappingProxyType({"full": 1140, "hard": 148})
#: Every subset with every split, in the order of all outputs.
RANKINGS: tuple[tuple[Subset, Split], ...] = tuple(itertools.product(N_TASKS, get_args(Split)))


class PublishedFigure(NamedTuple):
    """Calibrated pass@1 of a model on one split and subset."""

    model: str
    subset: Subset
    split: Split
    pass_at_1: float
    """A share in 0..1."""
    model_date: str | None
    """Day of the model's release, YYYY-MM-DD; None if it is unknown."""
    size_b: float | None
    """Parameters in billions; None if they are unknown."""


def published_figures() -> Iterator[PublishedFigure]:
    """Yield every published score, model by model; skip each subset and split for which a model has no score."""
    with shipped("data/leaderboard/published_pass_at_1.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for subset, split in RANKINGS:
                if figure := row[f"{subset}_{split}"]:
                    share = float(Decimal(figure) / 100)  # in decimal: 58.1 / 100 in binary is 0.5810000000000001
                    size_b = float(row["size_b"]) if row["size_b"] else None
                    yield PublishedFigure(row["model"], subset, split, share, row["date"] or None, size_b)


def published_score(model: str, subset: str, split: str) -> float | None:
    """Return a model's published pass@1 in 0..1, None if unpublished; ignore organisation and case of ``model``."""
    return _published_scores().get((bare_name(model), subset, split))


def bare_name(model: str) -> str:
    """Return a model's name without its organisation, in lower case, to compare names of one model."""
    return model.rpartition("/")[2].casefold()


@cache
def _published_scores() -> Mapping[tuple[str, str, str], float]:
    return {(bare_name(one.model), one.subset, one.split): one.pass_at_1 for one in published_figures()}
