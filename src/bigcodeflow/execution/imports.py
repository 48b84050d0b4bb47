"""Reads, without executing anything, which modules a program and its test import before they do anything else."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.environments import InstalledEnvironment

_EXTENSION_MARK = EXTENSION_SUFFIXES[-1]  # '.so'; the tag before it is that of the sandbox's Python, not of this one
#: Names of a text that are looked up; one that begins with more has degenerated, and starts cold.
_MOST_NAMES = 1_000
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)


class ModuleFiles:
    """Which dotted names are modules of an environment, by its files alone.

    Names are looked up in listings of folders that exist. No path is made of a name, which is a model's text and may be
    longer than a file's name can be.
    """

    def __init__(self, environment: InstalledEnvironment) -> None:
        libraries = [*environment.root.glob("venv/lib/python3.*/site-packages")]
        versions = {path.parent.name for path in libraries}
        libraries += [folder / "lib" / version for folder in environment.mounts for version in sorted(versions)]
        self._folders = tuple(dict.fromkeys(libraries))
        self._listing = cache(_listing)

    def has(self, name: str) -> bool:
        """Whether a dotted name is a module's."""
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
    """Names of the modules, and of the folders, that a folder offers to an import."""
    try:
        entries = list(folder.iterdir())
    except OSError:  # a mount that is not there
        entries = []
    files = [entry.name for entry in entries if entry.suffix in {".py", _EXTENSION_MARK} and entry.is_file()]
    modules = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    modules |= {name.partition(".")[0] for name in files if name.endswith(_EXTENSION_MARK) and name.count(".") > 1}
    return modules, {entry.name for entry in entries if entry.is_dir()}


class _Imports(NamedTuple):
    """What a text imports, as far as its statements tell."""

    everywhere: frozenset[str]
    """Top-level modules, wherever in the text."""
    leading: tuple[str, ...]
    """Dotted names at its beginning that may be modules, in order."""
    whole: bool
    """Nothing in the text can change what a later import does."""


_UNKNOWN = _Imports(frozenset(), (), whole=False)


def leading_modules(program: str, test: str, files: ModuleFiles) -> tuple[str, ...]:
    """Modules that the two texts import, in order, before a statement that might change what an import does.

    Importing them earlier is then the same as importing them where the texts do. What the environment does not hold
    is left out, and so is everything where a text has a syntax error, is too large or begins with thousands of imports.
    """
    found: dict[str, None] = {}
    for text in (program, test):
        imports = _imports(text)
        found.update(dict.fromkeys(name for name in imports.leading if files.has(name)))
        if not imports.whole:
            break
    return tuple(found)


def imported_modules(*texts: str) -> frozenset[str]:
    """Top-level modules that the texts import anywhere; none of a text with a syntax error."""
    return frozenset().union(*(_imports(text).everywhere for text in texts))


@untrusted_text.remembered  # a task's test stands beside every sample of it
@untrusted_text.fails_alone(lambda _text: _UNKNOWN)
def _imports(text: str) -> _Imports:
    try:
        body = untrusted_text.parse(text).body
    except untrusted_text.REFUSALS:
        return _UNKNOWN
    leading: list[str] = []
    whole = True
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            leading += _dotted_names(statement)
            if len(leading) > _MOST_NAMES:
                leading, whole = [], False
                break
        elif not _is_harmless(statement):
            whole = False
            break
    return _Imports(frozenset(_top_modules(body)), tuple(leading), whole)


def _dotted_names(statement: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.name for alias in statement.names[: _MOST_NAMES + 1]]
    if isinstance(statement, ast.Import):
        return names
    module = "" if statement.level or statement.module == "__future__" else statement.module
    return [module, *(f"{module}.{name}" for name in names)] if module else []


def _top_modules(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Modules imported by any of the statements or by one inside them; expressions hold none and are not entered."""
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
    """Whether a statement of a module's top level can change nothing that an import depends on."""
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
