"""What importing a module costs and loads, measured once in each environment: what zygotes are planned with.

The measurements lie in the environment's own folder, ``imports.json``; a machine where that cannot be written
measures again in every run.
"""

import json
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.sandbox import protocol
from bigcodeflow.store import write_atomically

logger = logging.getLogger(__name__)

FILE = "imports.json"
#: Bump when the measurement changes.
_VERSION = 1
_SECONDS_PER_CALL = 900.0
_OUTPUT_KIB = 65_536


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


def survey_imports(
    environment: InstalledEnvironment, names: Iterable[str], *, begin: Callable[[int], None] = lambda _names: None
) -> ImportSurvey:
    """The survey of at least these modules, measuring those that are not in the environment's yet.

    Args:
        environment: where the modules live.
        names: dotted names of installed modules.
        begin: told how many modules are to be measured, when any are.
    """
    survey = read_survey(environment)
    missing = sorted(set(names) - survey.loads.keys())
    if not missing:
        return survey
    begin(len(missing))
    measured = _measure(environment, missing)
    seconds = dict(survey.seconds)
    for module, found in measured.seconds.items():
        seconds[module] = min(found, seconds.get(module, found))
    survey = ImportSurvey(survey.loads | measured.loads, seconds)
    _write(environment, survey)
    return survey


def read_survey(environment: InstalledEnvironment) -> ImportSurvey:
    """What has been measured so far."""
    with suppress(OSError, ValueError, KeyError):
        told = json.loads((environment.root / FILE).read_text())
        if told["version"] == _VERSION:
            modules = told["modules"]
            loads = {name: frozenset(modules[index] for index in found) for name, found in told["loads"].items()}
            return ImportSurvey(loads, dict(zip(modules, told["seconds"], strict=True)))
    return ImportSurvey({}, {})


def _write(environment: InstalledEnvironment, survey: ImportSurvey) -> None:
    modules = sorted({module for found in survey.loads.values() for module in found})
    index = {module: number for number, module in enumerate(modules)}
    told = {
        "version": _VERSION,
        "modules": modules,
        "seconds": [round(survey.seconds.get(module, 0.0), 5) for module in modules],
        "loads": {name: sorted(index[module] for module in found) for name, found in sorted(survey.loads.items())},
    }
    try:
        write_atomically(environment.root / FILE, json.dumps(told).encode())
    except OSError as error:
        logger.warning("the survey of imports cannot be kept (%s): it will be made again in the next run", error)


def _measure(environment: InstalledEnvironment, names: list[str]) -> ImportSurvey:
    backend = LocalBackend(environment, LimitsConfig(output_kib=_OUTPUT_KIB))
    program = Path(protocol.__file__).with_name("survey.py").read_text()
    program = f"NAMES = {names!r}\n{program}"
    outcome = backend.execute(WorkItem("", program, _TEST, ("test_nothing",), _SECONDS_PER_CALL, frozenset()))
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
