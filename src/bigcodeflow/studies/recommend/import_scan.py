"""Modules that the Python files and notebooks of a folder import."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.judge import zygote_plan
from bigcodeflow.judge.integrity.syntax import tree_of
from bigcodeflow.studies.recommend.requirements import decoded, values_at

#: Folders with other people's code, or without code.
_SKIPPED = frozenset({"node_modules", "site-packages", "venv", "env", "virtualenv", "__pycache__", "build", "dist"})
_SUFFIXES = (".py", ".pyw", ".ipynb")
#: Line that imports, for text that is not Python 3.
_LINE = re.compile(
    r"(?:^|;)[ \t]*(?:from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import\b|import[ \t]+([\w \t.,]+))", re.MULTILINE
)
#: Lines of notebooks for IPython, not Python: magics, commands, help.
_MAGIC = re.compile(r"^[ \t]*(?:[%!?]|.*\?[ \t]*$)")
#: Start of a cell that is a text, or a program of another language.
_OTHER_CELL = re.compile(r"\s*%%(?!(?:time|timeit|capture|prun)\b)")
_LARGEST_BYTES = 20_000_000


def imported_modules(folder: Path) -> tuple[str, ...]:
    """Return the sorted names of the top-level modules that the files import, without the folder's own modules.

    Files are read and never executed. In a file that is not Python 3, the lines that look like imports count.

    Raises:
        ConfigError: the folder or file does not exist, or has no Python.
    """
    if folder.is_file():
        files, own = [folder], set()
    elif folder.is_dir():
        files = sorted(_files(folder))
        own = {module for file in files for module in _own_modules(file.relative_to(folder))}
    else:
        raise ConfigError(f"{folder}: there is no such folder: name one with Python files or notebooks")
    if not files:
        raise ConfigError(f"{folder}: has no Python file and no notebook: name another folder")
    beside = _beside(files)
    found = {module for file in files for text in _programs(file) for module in modules_of(text) - beside[file.parent]}
    return tuple(sorted(found - own))


def modules_of(program: str) -> frozenset[str]:
    """Return the top-level modules that a program imports anywhere."""
    if tree_of(program) is None:
        return frozenset(_modules_of_lines(program))
    return zygote_plan.imported_modules(program)


def _modules_of_lines(text: str) -> Iterator[str]:
    for of_module, listed in _LINE.findall(text):
        if of_module:
            yield of_module
        for part in listed.split(","):
            name = part.split()[0].partition(".")[0] if part.split() else ""
            if name.isidentifier():
                yield name


def _files(folder: Path) -> Iterator[Path]:
    """Yield Python files and notebooks below the folder, except in hidden folders and installed libraries."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not Path(parent, name, "pyvenv.cfg").exists()
        ]
        yield from (Path(parent, name) for name in names if name.lower().endswith(_SUFFIXES))


def _own_modules(relative: Path) -> tuple[str, ...]:
    """Return the module names that a file of the folder may have, from the folder itself or a source folder in it."""
    parts = relative.with_suffix("").parts
    return parts[: 2 if parts[0] in ("src", "lib") else 1]


def _beside(files: Iterable[Path]) -> Mapping[Path, set[str]]:
    """Map each folder to the modules that its scripts can import from it; none for packages, which use full names."""
    found = defaultdict[Path, set[str]](set)
    for file in files:
        found[file.parent].add(file.stem)
    return defaultdict(set, {folder: names for folder, names in found.items() if "__init__" not in names})


def _programs(path: Path) -> Iterator[str]:
    """Yield the programs of a file: its text, or the cells of a notebook; none if it is too large or unreadable."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return
        text = decoded(path.read_bytes())
    except OSError:  # deleted meanwhile, or a broken link
        return
    if path.suffix.lower() != ".ipynb":
        yield text
        return
    with suppress(ValueError, RecursionError):
        yield from _cells(json.loads(text))


def _cells(notebook: Any) -> Iterator[str]:
    """Yield code cells of a notebook, also in formats before version 4, without lines that only IPython understands."""
    for cell in (*values_at(notebook, "cells.*"), *values_at(notebook, "worksheets.*.cells.*")):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            lines = "".join(map(str, source)) if isinstance(source, list) else str(source)
            if not _OTHER_CELL.match(lines):
                yield "\n".join(line for line in lines.splitlines() if not _MAGIC.match(line))
