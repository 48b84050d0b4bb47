"""Stack of a project: map names of distributions and modules to the libraries that tasks are labelled with."""

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    distributions = [name for one in read for name in one.distributions]
    by_module = {module.lower(): module for module in known}
    chosen: dict[str, None] = {}
    without: dict[str, None] = {}
    for asked, counts_standard in (*((name, False) for name in distributions), *((name, True) for name in names)):
        found = [by_module[one] for one in _modules_of(asked) if one in by_module]
        found = [one for one in found if counts_standard or one not in sys.stdlib_module_names]
        chosen |= dict.fromkeys(found)
        if not found:
            without[asked] = None
    chosen |= dict.fromkeys(module for module in modules if module in known)
    # Modules of the standard library that no task uses are not worth a note to the reader.
    without |= dict.fromkeys(sorted(modules - set(known) - sys.stdlib_module_names))
    problems = tuple(problem for one in read for problem in one.problems)
    if not chosen:
        raise ConfigError(_nothing(without, problems, requirements, folders))
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


def _nothing(
    without: Iterable[str], problems: Sequence[str], requirements: Sequence[Path], folders: Sequence[Path]
) -> str:
    where = ", ".join(map(str, (*requirements, *folders))) or "--libraries"
    named = shortened(list(without)) or "nothing"
    passed_over = f" ({shortened(problems, _SHOWN_PROBLEMS)})" if problems else ""
    return (
        f"{where}: no recorded task uses any library that it names ({named}){passed_over}: name others, such as "
        "numpy and pandas"
    )


def shortened(names: Sequence[str], shown: int = _SHOWN) -> str:
    """Return the first names of a list that may be long, and the number of the rest."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest:,} more" if rest > 0 else "")
