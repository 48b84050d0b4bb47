"""Stack of a project: map names of distributions and modules to the libraries that tasks are labelled with."""

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.studies.recommend.import_scan import imported_modules
from bigcodeflow.studies.recommend.requirements import read_requirements

#: Modules of distributions, by normalized name, if they have other names. All other distributions are imported by their
#: own name, with underscores for hyphens.
_MODULES: Mapping[str, tuple[str, ...]] = {
    "aspose-words": ("aspose",),
    "beautifulsoup4": ("bs4",),
    "intel-tensorflow": ("tensorflow",),
    "matplotlib": ("matplotlib", "mpl_toolkits"),
    "opencv-contrib-python": ("cv2",),
    "opencv-contrib-python-headless": ("cv2",),
    "opencv-python": ("cv2",),
    "opencv-python-headless": ("cv2",),
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
    "tensorflow-cpu": ("tensorflow",),
    "tensorflow-gpu": ("tensorflow",),
    "tensorflow-intel": ("tensorflow",),
    "tensorflow-macos": ("tensorflow",),
    "tf-keras": ("keras",),
    "tf-nightly": ("tensorflow",),
}
_SEPARATORS = re.compile(r"[-_.]+")
_BEHIND_A_NAME = re.compile(r"[\[=<>~!;@].*")
#: Extras and versions in a text of several names.
_BEHIND_NAMES = re.compile(r"\s*(?:\[[^\]]*\]|[=<>!~]=?=?\s*[\d*][\w.*+!-]*)")
_BETWEEN_NAMES = re.compile(r"[\s,;]+")
_SHOWN, _SHOWN_PROBLEMS = 12, 3


class Stack(NamedTuple):
    """Libraries of a project that tasks use."""

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
    """Return the libraries, among those that tasks use, that requirement files, folders of programs and names mean.

    Modules of the standard library count if a program imports them or ``names`` has them: a distribution of such a
    name is something else.

    Raises:
        ConfigError: nothing was given, or no task uses any of it; the message is one line.
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
    """Return the first names of a list that may be long, and the number of the rest."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest:,} more" if rest > 0 else "")
