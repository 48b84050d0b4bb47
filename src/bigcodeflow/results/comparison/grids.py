"""Runs of one model that were asked with different settings: one setting beside the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigcodeflow.results.comparison.overviews import Score
from bigcodeflow.results.comparison.sides import Side
from bigcodeflow.results.titles import named_model

_LONGEST_VALUE = 40


@dataclass(frozen=True, slots=True)
class Setting:
    """One run of a grid."""

    label: str
    values: tuple[float | str | None, ...]
    """Of the varied parameters, in their order; None: left to the provider."""
    scores: tuple[Score, ...]
    """One for each k."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The runs of one model, by the parameters in which they differ."""

    model: str
    parameters: tuple[str, ...]
    """Such as temperature, top_p, max_tokens, n_samples or system."""
    settings: tuple[Setting, ...]
    """In the order of the values."""


def grids_of(sides: Sequence[Side], scores: Sequence[Score]) -> list[Grid]:
    """A grid for each model whose runs differ in what the model was asked with.

    Args:
        sides: what is compared.
        scores: their scores over the compared tasks.
    """
    grids = []
    for model in dict.fromkeys(side.run.model for side in sides):
        asked = {side.label: side.parameters for side in sides if side.run.model == model and side.parameters}
        varied = _varied(list(asked.values()))
        if varied:
            settings = [
                Setting(
                    label,
                    tuple(_plain(parameters.get(name)) for name in varied),
                    tuple(score for score in scores if score.label == label),
                )
                for label, parameters in asked.items()
            ]
            settings.sort(key=lambda setting: [_place(value) for value in setting.values])
            grids.append(Grid(str(named_model(model)), varied, tuple(settings)))
    return grids


def _varied(asked: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    names = dict.fromkeys(name for parameters in asked for name in parameters)
    return tuple(name for name in names if len({repr(parameters.get(name)) for parameters in asked}) > 1)


def _plain(value: Any) -> float | str | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"


def _place(value: float | str | None) -> tuple[int, float, str]:
    """Numbers in their order, then texts, then what was left to the provider."""
    if value is None:
        return 2, 0.0, ""
    return (0, value, "") if isinstance(value, int | float) else (1, 0.0, value)
