"""The runs of a sweep: every combination of models, splits, subsets and settings, each with a name of its own."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bigcodeflow.config import RunConfig, Split, Subset, load_settings, read_preset
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.settings import flattened, merged
from bigcodeflow.generation import expand_grid
from bigcodeflow.pipeline.sweeps.config import SweepConfig, SweepModel, SweepSetting
from bigcodeflow.results.formatting import title_of

#: What the sweep itself sets for each run, and where in a sweep it is told.
_OWN = {
    "name": "name",
    "store": "store",
    "out": "out",
    "dataset.split": "splits",
    "dataset.subset": "subsets",
    "samples.source": "models",
    "generation.model": "models",
}
_LONGEST_NAME = 200
#: Where settings come from while nobody has said whose they are.
_ORIGIN = "settings"


class Member(NamedTuple):
    """One run of a sweep."""

    name: str
    """Unique within the sweep, and the run's own name."""
    model: str
    setting: str
    """Name of the setting and values of a grid; empty where the sweep has neither."""
    config: RunConfig

    @property
    def title(self) -> str:
        """What people read: model, subset, split and setting."""
        view = self.config.dataset
        return title_of(self.model, view.subset, view.split, self.setting)


def members_of(sweep: SweepConfig) -> tuple[Member, ...]:
    """Every run of the sweep, model by model, checked before any of them starts.

    Raises:
        ConfigError: one line for each problem: an unknown preset or setting, a value that is refused, a name that two
            runs would share.
    """
    preset, _ = read_preset(sweep.preset)
    found: list[Member] = []
    problems: dict[str, list[str]] = {}
    choices = tuple(itertools.product(sweep.models, sweep.settings or (None,), sweep.splits, sweep.subsets))
    for model, setting, split, subset in choices:
        who = f"model {model.label}" + (f", setting {setting.name}" if setting else "")
        try:
            found += _members(sweep, preset, model, setting, split=split, subset=subset)
        except ConfigError as error:
            for line in str(error).splitlines():
                problems.setdefault(line.removeprefix(f"{_ORIGIN}: "), []).append(who)
    lines = [f"sweep {sweep.name}{_of(whom, len(choices))}: {told}" for told, whom in problems.items()]
    lines += _clashes(sweep, found)
    if lines:
        raise ConfigError("\n".join(lines))
    return tuple(found)


def _of(whom: list[str], total: int) -> str:
    """Which runs a problem concerns; a mistake in what all of them share is told once."""
    return "" if len(whom) == total else ", " + " and ".join(dict.fromkeys(whom))


def _members(
    sweep: SweepConfig,
    preset: Mapping[str, Any],
    model: SweepModel,
    setting: SweepSetting | None,
    *,
    split: Split,
    subset: Subset,
) -> Iterator[Member]:
    settings: dict[str, Any] = dict(preset)
    for values in (sweep.common, model.values, setting.values if setting else {}, sweep.overrides):
        _refuse_own(values)
        settings = merged(settings, values, _ORIGIN)
    name = "-".join((model.label, split, subset, *((setting.name,) if setting else ())))
    if len(name) > _LONGEST_NAME:
        raise ConfigError(f"the name {name!r} is too long for a run: give the model a shorter 'name'")
    settings = merged(settings, _own(sweep, model, name, split=split, subset=subset), _ORIGIN)
    for config in expand_grid(load_settings(settings, _ORIGIN)):
        grid = config.name.removeprefix(name).removeprefix("+")
        label = ", ".join(filter(None, (setting.name if setting else "", grid)))
        yield Member(config.name, model.label, label, config)


def _own(sweep: SweepConfig, model: SweepModel, name: str, *, split: Split, subset: Subset) -> dict[str, Any]:
    answers = model.answers.replace("{split}", split).replace("{subset}", subset)
    return {
        "name": name,
        "store": sweep.store,
        "out": f"{sweep.out}/{name}" if sweep.out else "",
        "dataset": {"split": split, "subset": subset},
        "samples": {"source": answers or "model"},
        "generation": {"model": model.model},
    }


def _refuse_own(values: Mapping[str, Any]) -> None:
    problems = [
        f"{'.'.join(path)} is what the sweep itself sets: change its {_OWN['.'.join(path)]!r}"
        for path, _ in flattened(values)
        if ".".join(path) in _OWN
    ]
    if problems:
        raise ConfigError("\n".join(problems))


def _clashes(sweep: SweepConfig, found: list[Member]) -> Iterator[str]:
    """Names count without regard to case, since each is a folder too."""
    counts = Counter(member.name.casefold() for member in found)
    for name in dict.fromkeys(member.name for member in found):
        count = counts[name.casefold()]
        if count > 1:
            yield (
                f"sweep {sweep.name}: {count} of its runs are called {name!r}: give its models and settings different "
                "names"
            )
