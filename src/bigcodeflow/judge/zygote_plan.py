"""Plans of warm starts: the modules that each item preloads, and the zygote from which the item is forked.

An item preloads the first imports of its program and test. A zygote serves an item only if these imports load every
module that the zygote has loaded: the item then sees only libraries that it imports, as after a cold start. The cost
and the loaded modules of each import are measured once per environment and stored in its folder as ``imports.json``.
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
#: Most imported names that are looked up for a text; a text that begins with more imports adds no modules.
_MOST_NAMES = 1_000
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)


class ModuleFiles:
    """Lookup of dotted module names in the files of an environment, without any import.

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
    """Return two sets of names: modules that can be imported from ``folder``, and subfolders of ``folder``."""
    try:
        entries = list(folder.iterdir())
    except OSError:  # a mount that does not exist
        entries = []
    files = [entry.name for entry in entries if entry.suffix in {".py", _EXTENSION_MARK} and entry.is_file()]
    modules = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    modules |= {name.partition(".")[0] for name in files if name.endswith(_EXTENSION_MARK) and name.count(".") > 1}
    return modules, {entry.name for entry in entries if entry.is_dir()}


class _Imports(NamedTuple):
    """Imports of a text: top-level modules imported anywhere, and dotted names in the leading import statements."""

    everywhere: frozenset[str]
    leading: tuple[str, ...]
    whole: bool
    """True if no statement of the text can change the effect of a later import."""


_UNKNOWN = _Imports(frozenset(), (), whole=False)


def leading_modules(program: str, test: str, files: ModuleFiles) -> tuple[str, ...]:
    """Return the environment's modules that program and test import before any statement that can affect imports.

    The modules are in the order of their imports; importing them before the program has the same effect. A text with a
    syntax error, a text that is too large, or a text that begins with thousands of imports adds no modules.
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
    """Yield the top-level modules that statements import, at any depth; skip expressions, which hold no imports."""
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
    """Return True if a top-level statement cannot change the effect of later imports."""
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


#: Limits of the backend that measures imports: it prints its measurements, so it may print much.
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
    """Planner of warm starts, which makes a new plan only if the items are more than twice those of its current plan.

    New plans are rare because workers then need new zygotes, whose imports cost time again.
    """

    def __init__(self, environment: InstalledEnvironment, surveyor: Backend) -> None:
        """Start without a plan; ``surveyor`` is the backend that measures imports."""
        self._environment, self._surveyor = environment, surveyor
        self._files = ModuleFiles(environment)
        self._planned, self._plan = 0, ZygotePlan((), ImportSurvey({}, {}))

    def starts_of(self, texts: Sequence[tuple[str, str]]) -> list[tuple[Modules, Layers]]:
        """Return a pair for each (program, test): the modules to preload, and the modules of the zygote to fork."""
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
    """Measurements of imports: loaded modules and CPU seconds."""

    loads: dict[str, frozenset[str]]
    """Module → all modules that its import loads in a new interpreter; empty if the import fails."""
    seconds: dict[str, float]
    """Module → CPU seconds of its import, without the seconds of other modules that the import loads."""


def survey_imports(environment: InstalledEnvironment, names: Iterable[str], surveyor: Backend) -> ImportSurvey:
    """Measure the modules in ``names`` that the stored import survey lacks; return the environment's whole survey."""
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
        logger.warning("the import survey cannot be stored (%s): make the folder writable, or runs repeat it", error)
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
    """Choice of zygotes for many items, made step by step: each step adds the zygote that saves most CPU time.

    A set of modules is an integer with a bit for each module: this makes thousands of comparisons fast.
    """

    def __init__(self, preloads: Iterable[Modules], survey: ImportSurvey) -> None:
        """Choose zygotes; ``preloads`` holds the modules that each item preloads."""
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
        """Return the modules of the zygote to fork for an item that preloads ``preload``; empty: no libraries."""
        closure = self._closure(preload)
        return self._layers[max((one for one in self._layers if not one & ~closure), key=self._cost_seconds)]

    def _closure(self, names: Iterable[str]) -> int:
        """Return, as an integer of bits, the set of all modules that are loaded when ``names`` are imported."""
        return reduce(or_, (self._loads.get(name, 0) for name in _with_packages(names)), 0)

    def _importable(self, closure: int) -> list[str]:
        """Return the surveyed modules of the set ``closure`` (bits) whose import loads only modules of the set."""
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
