"""Prepares items for warm execution: what each preloads, and the zygote that it is forked from."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.imports import ModuleFiles, leading_modules
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.survey import survey_imports
from bigcodeflow.execution.zygote_plan import Modules, plan_zygotes, with_packages

logger = logging.getLogger(__name__)

#: A module that fewer items import is not worth measuring.
_LEAST_ITEMS = 2


def warmed(items: Sequence[WorkItem], environment: InstalledEnvironment) -> list[WorkItem]:
    """The same items with ``preload`` and ``zygote`` filled in."""
    starts = starts_of([(item.program, item.test) for item in items], environment)
    return [
        replace(item, preload=preload, zygote=zygote) for item, (preload, zygote) in zip(items, starts, strict=True)
    ]


def starts_of(texts: Sequence[tuple[str, str]], environment: InstalledEnvironment) -> list[tuple[Modules, Modules]]:
    """For each program with its test the modules to preload, and those of its zygote.

    Args:
        texts: program and test of each item.
        environment: where they will run.
    """
    files = ModuleFiles(environment)
    preloads = [leading_modules(program, test, files) for program, test in texts]
    wanted = Counter(name for preload in preloads for name in with_packages(preload))

    def begin(names: int) -> None:
        logger.warning("measuring the imports of %d modules, once in this environment", names)

    frequent = [name for name, times in wanted.items() if times >= _LEAST_ITEMS]
    zygotes = plan_zygotes(preloads, survey_imports(environment, frequent, begin=begin))
    return [(preload, zygotes[preload]) for preload in preloads]
