"""Stack of a project: its libraries that benchmark tasks use, from files of the project or named by the user."""

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.judge import zygote_plan
from bigcodeflow.judge.integrity.syntax import tree_of
from bigcodeflow_studies.recommend.requirements import decoded, read_requirements, values_at

#: Modules of distributions, by normalized name, if they have other names. All other distributions are imported by their
#: own name, with underscores for hyphens.
_MODULES: Mapping[str, tuple[str, ...]] = {
    "aspose-words": ("aspose",),
    "beautifulsoup4": ("bs4",),
    "matplotlib": ("matplotlib", "mpl_toolkits"),
    "pillow": ("PIL",),
    "pillow-simd": ("PIL",),
    "ptable": ("prettytable",),
    "pycrypto": ("Crypto",),
    "pycryptodome": ("Crypto",),
    "pysoundfile": ("soundfile",),
    "python-dateutil": ("dateutil",),
    "python-docx": ("docx",),
    "python-levenshtein": ("Levenshtein",),
    "pytorch": ("torch",),
    "pyyaml": ("yaml",),
    "scikit-image": ("skimage",),
    "scikit-learn": ("sklearn",),
    "tf-keras": ("keras",),
    **{f"opencv{kind}-python{end}": ("cv2",) for kind in ("", "-contrib") for end in ("", "-headless")},
    **{f"tensorflow-{kind}": ("tensorflow",) for kind in ("cpu", "gpu", "intel", "macos")},
    **dict.fromkeys(("intel-tensorflow", "tf-nightly"), ("tensorflow",)),
}
_SEPARATORS = re.compile(r"[-_.]+")
_BEHIND_A_NAME = re.compile(r"[\[=<>~!;@].*")
#: Extras and versions in a text of several names.
_BEHIND_NAMES = re.compile(r"\s*(?:\[[^\]]*\]|[=<>!~]=?=?\s*[\d*][\w.*+!-]*)")
_BETWEEN_NAMES = re.compile(r"[\s,;]+")
_SHOWN, _SHOWN_PROBLEMS = 12, 3
#: Folders with other people's code, or without code.
_SKIPPED = frozenset({"node_modules", "site-packages", "venv", "env", "virtualenv", "__pycache__", "build", "dist"})
_SUFFIXES = (".py", ".pyw", ".ipynb")
#: Line that imports, for text that is not Python 3, and the names in it.
_LINE = re.compile(r"(?:^|;)[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w \t.,]+))", re.MULTILINE)
_NAMES = re.compile(r"(?:^|,)\s*([^\W\d]\w*)")
#: Lines of notebooks for IPython, not Python: magics, commands, help.
_MAGIC = re.compile(r"^[ \t]*(?:[%!?]|.*\?[ \t]*$)")
#: Start of a cell that is a text, or a program of another language.
_OTHER_CELL = re.compile(r"\s*%%(?!(?:time|timeit|capture|prun)\b)")
_LARGEST_BYTES = 20_000_000


class Stack(NamedTuple):
    """Libraries of a project, as far as recorded benchmark tasks use them."""

    libraries: tuple[str, ...]
    """Names as in the tasks, sorted."""
    without_tasks: tuple[str, ...]
    """Other names in the project, which no recorded task uses."""
    notes: tuple[str, ...] = ()
    """Sentences about lines that could not be read."""


def stack_of(
    known: Collection[str],
    *,
    requirements: Sequence[Path] = (),
    folders: Sequence[Path] = (),
    names: Sequence[str] = (),
) -> Stack:
    """Return the stack: the libraries in ``known`` that a project's requirements, programs or ``names`` contain.

    ``known`` are the libraries that tasks use. Modules of the standard library count only if a program imports them or
    ``names`` contains them: a distribution with such a name is another library.

    Raises:
        ConfigError: no library is given, or no task uses any given library.
    """
    read = [read_requirements(path) for path in requirements]
    modules = {module for folder in folders for module in imported_modules(folder)}
    by_module = {module.lower(): module for module in known}
    chosen, without = modules & set(known), list[str]()
    asked = {name: sys.stdlib_module_names for one in read for name in one.distributions}
    for name, passed_over in (asked | dict.fromkeys(names, frozenset[str]())).items():
        found = {by_module[one] for one in _modules_of(name) if one in by_module} - passed_over
        chosen |= found
        if not found:
            without.append(name)
    # Modules of the standard library that no task uses are not worth a note to the reader.
    without += sorted(modules - set(known) - sys.stdlib_module_names - set(without))
    problems = tuple(problem for one in read for problem in one.problems)
    if not chosen:
        where = ", ".join(map(str, (*requirements, *folders))) or "--libraries"
        named = shortened(without) or "nothing"
        skipped = f" ({shortened(problems, _SHOWN_PROBLEMS)})" if problems else ""
        raise ConfigError(
            f"{where}: no recorded task uses any library that it names ({named}){skipped}: name others, such as "
            "numpy and pandas"
        )
    return Stack(tuple(sorted(chosen, key=str.lower)), tuple(without), problems)


def names_in(text: str) -> list[str]:
    """Split a typed text into names of libraries at commas, semicolons or blanks; drop extras and versions."""
    return [name for name in _BETWEEN_NAMES.split(_BEHIND_NAMES.sub("", text)) if name]


def _modules_of(distribution: str) -> list[str]:
    """Return module names that a distribution may have, in lower case, since files write names in any case.

    Extras and versions after a name are ignored; for a dotted name, the top-level module is a candidate too.
    """
    bare = _BEHIND_A_NAME.sub("", distribution).strip()
    name = _SEPARATORS.sub("-", bare).lower()
    found = _MODULES.get(name, ())
    return [one.lower() for one in (*found, name.replace("-", "_"), name, bare.partition(".")[0])]


def shortened(names: Sequence[str], shown: int = _SHOWN) -> str:
    """Join the first ``shown`` names by commas, and add the number of names that are left out."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest:,} more" if rest > 0 else "")


def imported_modules(folder: Path) -> tuple[str, ...]:
    """Return the sorted names of the top-level modules that a folder's files import, without the folder's own modules.

    Files are read and never executed. In a file that is not Python 3, the lines that look like imports count.

    Raises:
        ConfigError: the folder or file does not exist, or contains no Python file and no notebook.
    """
    if folder.is_file():
        files, own = [folder], set[str]()
    elif folder.is_dir():
        files = sorted(_files(folder))
        places = [file.relative_to(folder).with_suffix("").parts for file in files]
        # Modules of the folder itself, or of a source folder in it.
        own = {module for parts in places for module in parts[: 2 if parts[0] in ("src", "lib") else 1]}
    else:
        raise ConfigError(f"{folder}: there is no such folder: name a folder with Python files or notebooks")
    if not files:
        raise ConfigError(f"{folder}: has no Python file and no notebook: name another folder")
    neighbours = defaultdict[Path, set[str]](set)
    for file in files:
        neighbours[file.parent].add(file.stem)
    found = set[str]()
    for file in files:
        # A script can import its neighbours by their names; a module of a package uses full names.
        beside = set() if "__init__" in neighbours[file.parent] else neighbours[file.parent]
        found |= {module for text in _programs(file) for module in modules_of(text)} - beside
    return tuple(sorted(found - own))


def modules_of(program: str) -> frozenset[str]:
    """Return the top-level modules that a program imports anywhere."""
    if tree_of(program) is None:
        return frozenset(name for parts in _LINE.findall(program) for name in _NAMES.findall("".join(parts)))
    return zygote_plan.imported_modules(program)


def _files(folder: Path) -> Iterator[Path]:
    """Yield Python files and notebooks below the folder, except in hidden folders and installed libraries."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not Path(parent, name, "pyvenv.cfg").exists()
        ]
        yield from (Path(parent, name) for name in names if name.lower().endswith(_SUFFIXES))


def _programs(path: Path) -> Iterator[str]:
    """Yield a file's text, or the code cells of a notebook of any version; skip a too large or unreadable file."""
    try:
        text = decoded(path.read_bytes()) if path.stat().st_size <= _LARGEST_BYTES else ""
    except OSError:  # deleted meanwhile, or a broken link
        return
    if path.suffix.lower() != ".ipynb":
        yield text
        return
    notebook = None
    with suppress(ValueError, RecursionError):
        notebook = json.loads(text)
    for cell in (*values_at(notebook, "cells.*"), *values_at(notebook, "worksheets.*.cells.*")):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            lines = "".join(map(str, source)) if isinstance(source, list) else str(source)
            if not _OTHER_CELL.match(lines):
                yield "\n".join(line for line in lines.splitlines() if not _MAGIC.match(line))
