"""Plans warm starts: the modules that an item preloads, read from its texts, and the zygote that it is forked from.

A zygote serves an item only if the item's own first imports load everything that the zygote has loaded: the item then
starts as if it had started cold, without libraries that it did not import. The cost and the loaded modules of each
import are measured once in each environment, and kept in its folder, ``imports.json``.
"""

import ast
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, reduce
from importlib.machinery import EXTENSION_SUFFIXES
from operator import or_
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core import untrusted_text
from bigcodeflow.core.files import write_atomically
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest import protocol
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.items import Layers, WorkItem, untested_item

logger = logging.getLogger(__name__)

Modules = tuple[str, ...]

_EXTENSION_MARK = EXTENSION_SUFFIXES[-1]  # '.so'; the tag before it depends on the sandbox's Python, not on this Python
#: Most imported names of a text that are looked up; a text that begins with more is degenerate, and starts cold.
_MOST_NAMES = 1_000
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)


class ModuleFiles:
    """Lookup of dotted module names in an environment, by its files alone.

    Names are looked up in listings of existing folders. No path is built from an unknown name, because names come from
    a model's text and may be longer than a file name can be.
    """

    def __init__(self, environment: InstalledEnvironment) -> None:
        libraries = [*environment.root.glob("venv/lib/python3.*/site-packages")]
        versions = {path.parent.name for path in libraries}
        libraries += [folder / "lib" / version for folder in environment.mounts for version in sorted(versions)]
        self._folders = tuple(dict.fromkeys(libraries))
        self._listing = cache(_listing)

    def has(self, name: str) -> bool:
        return any(self._holds(folder, name) for folder in self._folders)

    def _holds(self, folder: Path, name: str) -> bool:
        top, _, below = name.partition(".")
        while below:
            if top not in self._listing(folder)[1]:
                return False
            folder /= top
            top, _, below = below.partition(".")
        modules, folders = self._listing(folder)
        return top in modules or (top in folders and "__init__" in self._listing(folder / top)[0])


def _listing(folder: Path) -> tuple[set[str], set[str]]:
    """Return the names of the modules, and of the folders, that a folder offers to an import."""
    try:
        entries = list(folder.iterdir())
    except OSError:  # a mount that does not exist
        entries = []
    files = [entry.name for entry in entries if entry.suffix in {".py", _EXTENSION_MARK} and entry.is_file()]
    modules = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    modules |= {name.partition(".")[0] for name in files if name.endswith(_EXTENSION_MARK) and name.count(".") > 1}
    return modules, {entry.name for entry in entries if entry.is_dir()}


class _Imports(NamedTuple):
    """Imports of a text: top-level modules anywhere, and dotted names at its beginning that may be modules."""

    everywhere: frozenset[str]
    leading: tuple[str, ...]
    whole: bool
    """True if nothing in the text can change what a later import does."""


_UNKNOWN = _Imports(frozenset(), (), whole=False)


def leading_modules(program: str, test: str, files: ModuleFiles) -> tuple[str, ...]:
    """Return the environment's modules that both texts import, in order, before a statement that may change imports.

    An earlier import of these modules has the same effect. A text that has a syntax error, is too large or begins with
    thousands of imports adds no modules.
    """
    found: dict[str, None] = {}
    for text in (program, test):
        imports = _imports(text)
        found.update(dict.fromkeys(name for name in imports.leading if files.has(name)))
        if not imports.whole:
            break
    return tuple(found)


def imported_modules(*texts: str) -> frozenset[str]:
    """Return the top-level modules that the texts import anywhere; none for a text with a syntax error."""
    return frozenset().union(*(_imports(text).everywhere for text in texts))


@untrusted_text.remembered  # all samples of a task have the same test
@untrusted_text.with_fallback(lambda _text: _UNKNOWN)
def _imports(text: str) -> _Imports:
    try:
        body = untrusted_text.parse(text).body
    except untrusted_text.REFUSALS:
        return _UNKNOWN
    everywhere = frozenset(_top_modules(body))
    leading: list[str] = []
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            leading += _dotted_names(statement)
            if len(leading) > _MOST_NAMES:
                return _Imports(everywhere, (), whole=False)
        elif not _is_harmless(statement):
            return _Imports(everywhere, tuple(leading), whole=False)
    return _Imports(everywhere, tuple(leading), whole=True)


def _dotted_names(statement: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.name for alias in statement.names[: _MOST_NAMES + 1]]
    if isinstance(statement, ast.Import):
        return names
    module = "" if statement.level or statement.module == "__future__" else statement.module
    return [module, *(f"{module}.{name}" for name in names)] if module else []


def _top_modules(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the modules that statements import, at any depth; skip expressions, which contain no imports."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, _HOLDERS):
            waiting += ast.iter_child_nodes(node)


def _is_harmless(statement: ast.stmt) -> bool:
    """Tell if a top-level statement of a module can change nothing that an import depends on."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")])):
            return True
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AnnAssign(target=target, value=value):
            targets = [target]
        case _:
            return False
    calls = (ast.Call, ast.Await, ast.Yield, ast.NamedExpr)
    acts = value is not None and any(isinstance(node, calls) for node in ast.walk(value))
    return not acts and all(isinstance(target, ast.Name) for target in targets)


#: Limits of the backend that measures imports: the measurements are its output.
SURVEY_LIMITS = LimitsConfig(output_kib=65_536)
FILE = "imports.json"
#: Bump when the measurement changes.
_VERSION = 1
_SURVEY_SECONDS = 900.0
#: Fewest items that must import a module to make its measurement worthwhile.
_LEAST_ITEMS = 2
_MOST_ZYGOTES = 40
_MOST_CANDIDATES = 250
_MOST_PAIRS = 60
#: CPU time that a zygote must save over the whole run, after the cost of its own imports.
_LEAST_GAIN_SECONDS = 0.15
_FORK_SECONDS = 0.03
#: A new plan is made if there are more than this many times the items of the current plan.
_MUCH_MORE = 2
#: Expected executions of an item: the item itself and, if it passes, its check.
_EXECUTIONS_PER_ITEM = 2


class ZygotePlanner:
    """Plans how items start; reuses the plan for later items, unless these are many more.

    A second set of zygotes would make the workers pay for imports again.
    """

    def __init__(self, environment: InstalledEnvironment, surveyor: Backend) -> None:
        """Plan nothing yet; ``surveyor`` measures imports."""
        self._environment, self._surveyor = environment, surveyor
        self._files = ModuleFiles(environment)
        self._planned, self._plan = 0, ZygotePlan((), ImportSurvey({}, {}))

    def starts_of(self, texts: Sequence[tuple[str, str]]) -> list[tuple[Modules, Layers]]:
        """Return for each (program, test) the modules to preload, and the modules of the zygote to fork."""
        preloads = [leading_modules(program, test, self._files) for program, test in texts]
        if len(texts) > _MUCH_MORE * self._planned:
            wanted = Counter(name for preload in preloads for name in _with_packages(preload))
            frequent = [name for name, times in wanted.items() if times >= _LEAST_ITEMS]
            self._plan = ZygotePlan(preloads, survey_imports(self._environment, frequent, self._surveyor))
            self._planned = len(texts)
        return [(preload, self._plan.zygote_of(preload)) for preload in preloads]

    def warmed(self, items: Sequence[WorkItem]) -> list[WorkItem]:
        starts = self.starts_of([(item.program, item.test) for item in items])
        return [replace(one, preload=start[0], zygote=start[1]) for one, start in zip(items, starts, strict=True)]


class ImportSurvey(NamedTuple):
    """Measured effects and costs of imports."""

    loads: dict[str, frozenset[str]]
    """Module → every module that its import into a bare interpreter loads; empty if the import fails."""
    seconds: dict[str, float]
    """Module → CPU seconds of its own import, without the modules that it imports."""


def survey_imports(environment: InstalledEnvironment, names: Iterable[str], surveyor: Backend) -> ImportSurvey:
    """Return a survey of at least these installed modules; measure modules that the environment's survey lacks."""
    survey = read_survey(environment)
    missing = sorted(set(names) - survey.loads.keys())
    if not missing:
        return survey
    logger.warning("measuring the imports of %d modules, once in this environment", len(missing))
    program = Path(protocol.__file__).with_name("survey.py").read_text(encoding="utf-8")
    outcome = surveyor.execute(untested_item(f"NAMES = {missing!r}\n{program}", _SURVEY_SECONDS))
    loads = survey.loads | dict.fromkeys(missing, frozenset[str]())
    seconds = dict(survey.seconds)
    for line in outcome.stdout.splitlines():
        with suppress(ValueError, TypeError, AttributeError):  # a library printed another line
            name, found, costs = json.loads(line)
            loads[name] = frozenset(found)
            for module, cost in costs.items():
                seconds[module] = min(cost, seconds.get(module, cost))
    modules = sorted(frozenset().union(*loads.values()))
    index = {module: number for number, module in enumerate(modules)}
    stored = {
        "version": _VERSION,
        "modules": modules,
        "seconds": [round(seconds.get(module, 0.0), 5) for module in modules],
        "loads": {name: sorted(index[module] for module in found) for name, found in sorted(loads.items())},
    }
    try:
        write_atomically(environment.root / FILE, json.dumps(stored).encode())
    except OSError as error:
        logger.warning("the survey of imports cannot be kept (%s): it will be made again in the next run", error)
    return ImportSurvey(loads, seconds)


def read_survey(environment: InstalledEnvironment) -> ImportSurvey:
    """Return the stored survey of the environment; empty if there is none."""
    with suppress(OSError, ValueError, KeyError):
        stored = json.loads((environment.root / FILE).read_text(encoding="utf-8"))
        if stored["version"] == _VERSION:
            modules = stored["modules"]
            loads = {name: frozenset(modules[index] for index in found) for name, found in stored["loads"].items()}
            return ImportSurvey(loads, dict(zip(modules, stored["seconds"], strict=True)))
    return ImportSurvey({}, {})


class ZygotePlan:
    """Zygotes for the preloads of items; chosen greedily, each time the zygote that saves most additional CPU time.

    Sets of modules are bits of integers, because thousands of sets are compared with each other.
    """

    def __init__(self, preloads: Iterable[Modules], survey: ImportSurvey) -> None:
        """Plan for these preloads, one for each item."""
        modules = sorted(frozenset().union(*survey.loads.values()))
        self._bits = {module: 1 << number for number, module in enumerate(modules)}
        self._loads = {name: sum(self._bits[module] for module in found) for name, found in survey.loads.items()}
        costs = [survey.seconds.get(module, 0.0) for module in modules]

        @cache
        def cost_seconds(closure: int) -> float:
            return sum(cost for cost, digit in zip(costs, bin(closure)[:1:-1], strict=False) if digit == "1")

        self._cost_seconds = cost_seconds
        demand = Counter(self._closure(preload) for preload in preloads for _ in range(_EXECUTIONS_PER_ITEM))
        self._layers: dict[int, Layers] = {0: ()}
        for zygote in sorted(self._choose(demand), key=int.bit_count):
            base = max((one for one in self._layers if not one & ~zygote), key=cost_seconds)
            added = set(self._importable(zygote)) - set(self._importable(base))
            self._layers[zygote] = (*self._layers[base], tuple(sorted(added)))

    def zygote_of(self, preload: Modules) -> Layers:
        """Return the modules of the zygote to fork for a preload; empty: the zygote without libraries."""
        closure = self._closure(preload)
        return self._layers[max((one for one in self._layers if not one & ~closure), key=self._cost_seconds)]

    def _closure(self, names: Iterable[str]) -> int:
        """Return, as bits, all modules that are loaded after the import of these modules."""
        return reduce(or_, (self._loads.get(name, 0) for name in _with_packages(names)), 0)

    def _importable(self, closure: int) -> list[str]:
        """Return the surveyed modules of a set of bits whose import loads no module outside the set."""
        found = [name for name, loaded in self._loads.items() if loaded and not loaded & ~closure]
        return [name for name in found if self._bits.get(name, 0) & closure]

    def _choose(self, demand: Mapping[int, int]) -> list[int]:
        cost = self._cost_seconds
        weighty = sorted(demand, key=lambda closure: -demand[closure] * cost(closure))[:_MOST_CANDIDATES]
        # Candidates: what the weightiest items load, and what pairs of them share, if it can be imported by name.
        top = weighty[:_MOST_PAIRS]
        shared = sorted({one & other for number, one in enumerate(top) for other in top[:number]})
        found = dict.fromkeys([*weighty, *(self._closure(self._importable(common)) for common in shared)])
        candidates = [candidate for candidate in found if candidate]
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


def _with_packages(names: Iterable[str]) -> set[str]:
    return {".".join(parts[:end]) for parts in (name.split(".") for name in names) for end in range(1, len(parts) + 1)}
