"""Prepares items for warm execution: what each preloads, and the zygote that it is forked from.

A zygote serves an item only if everything it has loaded is what the item's own first imports load: the item then
starts as if it had started cold, and no library is there that it did not ask for. What importing a module costs and
loads is measured once in each environment. The measurements lie in the environment's own folder, ``imports.json``; a
machine where that cannot be written measures again in every run.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import or_
from pathlib import Path

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.imports import ModuleFiles, leading_modules
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.sandbox import protocol
from bigcodeflow.store import write_atomically

logger = logging.getLogger(__name__)

Modules = tuple[str, ...]

#: Limits of the backend that imports are measured with: the measurements are its output.
SURVEY_LIMITS = LimitsConfig(output_kib=65_536)
FILE = "imports.json"
#: Bump when the measurement changes.
_VERSION = 1
_SURVEY_SECONDS = 900.0
#: A module that fewer items import is not worth measuring.
_LEAST_ITEMS = 2
_MOST_ZYGOTES = 40
_MOST_CANDIDATES = 250
_MOST_PAIRS = 60
#: CPU that a zygote has to save over the whole run, beyond what its own imports cost.
_LEAST_GAIN_SECONDS = 0.15
_FORK_SECONDS = 0.03
#: Executions to expect of an item: its own and, where it passes, that of its check.
_EXECUTIONS_PER_ITEM = 2


def warmed(items: Sequence[WorkItem], environment: InstalledEnvironment, surveyor: Backend) -> list[WorkItem]:
    """The same items with ``preload`` and ``zygote`` filled in."""
    starts = starts_of([(item.program, item.test) for item in items], environment, surveyor)
    return [
        replace(item, preload=preload, zygote=zygote) for item, (preload, zygote) in zip(items, starts, strict=True)
    ]


def starts_of(
    texts: Sequence[tuple[str, str]], environment: InstalledEnvironment, surveyor: Backend
) -> list[tuple[Modules, Modules]]:
    """For each program with its test the modules to preload, and those of its zygote.

    Args:
        surveyor: measures imports there, under SURVEY_LIMITS.
    """
    files = ModuleFiles(environment)
    preloads = [leading_modules(program, test, files) for program, test in texts]
    wanted = Counter(name for preload in preloads for name in with_packages(preload))
    frequent = [name for name, times in wanted.items() if times >= _LEAST_ITEMS]
    zygotes = plan_zygotes(preloads, survey_imports(environment, frequent, surveyor))
    return [(preload, zygotes[preload]) for preload in preloads]


@dataclass(frozen=True, slots=True)
class ImportSurvey:
    """What was measured."""

    loads: dict[str, frozenset[str]]
    """Module → every module that importing it into a bare interpreter loads; empty where that fails."""
    seconds: dict[str, float]
    """Module → CPU seconds of its own part of an import."""

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """Everything that is loaded once these are imported; names that were not surveyed count for nothing."""
        return frozenset().union(*(self.loads.get(name, frozenset()) for name in names))

    def cost_seconds(self, modules: Iterable[str]) -> float:
        """CPU seconds to load the modules."""
        return sum(self.seconds.get(module, 0.0) for module in modules)


def survey_imports(environment: InstalledEnvironment, names: Iterable[str], surveyor: Backend) -> ImportSurvey:
    """The survey of at least these installed modules, measuring those that are not in the environment's yet."""
    survey = read_survey(environment)
    missing = sorted(set(names) - survey.loads.keys())
    if not missing:
        return survey
    logger.warning("measuring the imports of %d modules, once in this environment", len(missing))
    measured = _measure(surveyor, missing)
    seconds = dict(survey.seconds)
    for module, found in measured.seconds.items():
        seconds[module] = min(found, seconds.get(module, found))
    survey = ImportSurvey(survey.loads | measured.loads, seconds)
    _write(environment, survey)
    return survey


def read_survey(environment: InstalledEnvironment) -> ImportSurvey:
    """What has been measured so far."""
    with suppress(OSError, ValueError, KeyError):
        stored = json.loads((environment.root / FILE).read_text())
        if stored["version"] == _VERSION:
            modules = stored["modules"]
            loads = {name: frozenset(modules[index] for index in found) for name, found in stored["loads"].items()}
            return ImportSurvey(loads, dict(zip(modules, stored["seconds"], strict=True)))
    return ImportSurvey({}, {})


def _write(environment: InstalledEnvironment, survey: ImportSurvey) -> None:
    modules = sorted({module for found in survey.loads.values() for module in found})
    index = {module: number for number, module in enumerate(modules)}
    stored = {
        "version": _VERSION,
        "modules": modules,
        "seconds": [round(survey.seconds.get(module, 0.0), 5) for module in modules],
        "loads": {name: sorted(index[module] for module in found) for name, found in sorted(survey.loads.items())},
    }
    try:
        write_atomically(environment.root / FILE, json.dumps(stored).encode())
    except OSError as error:
        logger.warning("the survey of imports cannot be kept (%s): it will be made again in the next run", error)


def _measure(surveyor: Backend, names: list[str]) -> ImportSurvey:
    program = Path(protocol.__file__).with_name("survey.py").read_text()
    program = f"NAMES = {names!r}\n{program}"
    outcome = surveyor.execute(WorkItem("", program, _TEST, ("test_nothing",), _SURVEY_SECONDS, frozenset()))
    loads: dict[str, frozenset[str]] = dict.fromkeys(names, frozenset())
    seconds: dict[str, float] = {}
    for line in outcome.stdout.splitlines():
        with suppress(ValueError, TypeError, AttributeError):  # a library printed a line of its own
            name, found, costs = json.loads(line)
            loads[name] = frozenset(found)
            for module, cost in costs.items():
                seconds[module] = min(cost, seconds.get(module, cost))
    return ImportSurvey(loads, seconds)


_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_nothing(self):
        pass
"""


def plan_zygotes(preloads: Iterable[Modules], survey: ImportSurvey) -> dict[Modules, Modules]:
    """For each distinct preload the modules of the zygote that serves it: sorted, and empty for a bare one.

    The zygotes are chosen one by one, each the one that saves most CPU time after those before it.
    """
    wanted = Counter(preloads)
    sets = _ModuleSets(survey)
    closures = {preload: sets.closure(with_packages(preload)) for preload in wanted}
    demand: Counter[int] = Counter()
    for preload, times in wanted.items():
        demand[closures[preload]] += _EXECUTIONS_PER_ITEM * times
    chosen = _choose(demand, sets)
    best = {
        closure: max((one for one in chosen if not one & ~closure), key=sets.cost_seconds, default=0)
        for closure in demand
    }
    names = {zygote: tuple(sorted(sets.importable(zygote))) for zygote in [*chosen, 0]}
    return {preload: names[best[closure]] for preload, closure in closures.items()}


def with_packages(names: Iterable[str]) -> set[str]:
    """The modules, and the packages that hold them, which their import imports too."""
    return {".".join(parts[:end]) for parts in (name.split(".") for name in names) for end in range(1, len(parts) + 1)}


class _ModuleSets:
    """Sets of modules as the bits of a number: thousands of them are compared with one another."""

    def __init__(self, survey: ImportSurvey) -> None:
        modules = sorted(frozenset().union(*survey.loads.values()))
        self._bits = {module: 1 << number for number, module in enumerate(modules)}
        self._seconds = [survey.seconds.get(module, 0.0) for module in modules]
        self._loads = {name: sum(self._bits[module] for module in found) for name, found in survey.loads.items()}
        self.cost_seconds = cache(self._cost_seconds)

    def closure(self, names: Iterable[str]) -> int:
        """Everything that is loaded once these are imported."""
        return reduce(or_, (self._loads.get(name, 0) for name in names), 0)

    def importable(self, closure: int) -> list[str]:
        """Surveyed names in the set whose import loads nothing beyond it."""
        return [
            name
            for name, loaded in self._loads.items()
            if loaded and self._bits.get(name, 0) & closure and not loaded & ~closure
        ]

    def _cost_seconds(self, closure: int) -> float:
        digits = bin(closure)[:1:-1]
        return sum(seconds for seconds, digit in zip(self._seconds, digits, strict=False) if digit == "1")


def _choose(demand: Mapping[int, int], sets: _ModuleSets) -> list[int]:
    cost = sets.cost_seconds
    weighty = sorted(demand, key=lambda closure: -demand[closure] * cost(closure))[:_MOST_CANDIDATES]
    candidates = _candidates(weighty, sets)
    serves = {candidate: [one for one in weighty if not candidate & ~one] for candidate in candidates}
    saved = dict.fromkeys(weighty, 0.0)
    chosen: list[int] = []

    def gain(candidate: int) -> float:
        own = cost(candidate)
        base = max((cost(zygote) for zygote in chosen if not zygote & ~candidate), default=0.0)
        worth = sum(demand[one] * (own - saved[one]) for one in serves[candidate] if own > saved[one])
        return worth - (own - base) - _FORK_SECONDS

    while candidates and len(chosen) < _MOST_ZYGOTES:
        best = max(candidates, key=gain)
        if gain(best) < _LEAST_GAIN_SECONDS:
            break
        candidates.remove(best)
        chosen.append(best)
        for one in serves[best]:
            saved[one] = max(saved[one], cost(best))
    return chosen


def _candidates(closures: Sequence[int], sets: _ModuleSets) -> list[int]:
    """What the weightiest items load, and what pairs of them have in common, as far as it can be imported by name."""
    found = dict.fromkeys(closures)
    top = closures[:_MOST_PAIRS]
    shared = {one & other for number, one in enumerate(top) for other in top[:number]}
    found.update(dict.fromkeys(sets.closure(sets.importable(common)) for common in sorted(shared)))
    return [candidate for candidate in found if candidate]
