"""Read the programs of the attack suites: task texts, and the pieces of programs that are put into their solutions.

A line ``# --- name ---`` begins a section of a file, a line ``# <name>`` a piece of a program. The same line in a
task's solution, honest or wrong, is the place of that piece, which gets the place's indentation:

    first      before the answer is computed
    last       before it is returned
    module     before the function, or where that place is not stated, before everything; the piece without a name
    end        after everything, so that it meets the test text
"""

import re
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

TASKS_FOLDER = Path(__file__).parent / "tasks"
DEFAULT_TASK = "moving_mean"
"""Task of programs whose header names none."""
_SECTION = re.compile(r"^# --- (.+) ---\n", re.MULTILINE)
_PIECE = re.compile(r"^# <(\w+)>\n", re.MULTILINE)
_PLACE = re.compile(r"^([ \t]*)# <(\w+)>\n", re.MULTILINE)


class Exhibit(NamedTuple):
    """A program and the test text that it is judged by."""

    program: str
    test: str
    reference: str = ""
    """The task's own solution, where the program is another one."""


class Parts(NamedTuple):
    """Header and pieces of a program."""

    header: str
    pieces: dict[str, str]

    def field(self, name: str, default: str = "") -> str:
        """Return what a line of the header says after ``name:``."""
        found = re.search(rf"^{name}: (.+)$", self.header, re.MULTILINE)
        return found[1].strip().removesuffix('"""') if found else default

    def placed_in(self, solution: str) -> str:
        """Return the program: the header, and the solution with the pieces in their places."""
        solution = solution if "# <module>\n" in solution else "# <module>\n" + solution
        missing = self.pieces.keys() - {place[2] for place in _PLACE.finditer(solution)}
        if missing:
            raise ValueError(f"{self.header}: the solution has no place for {sorted(missing)}")
        return f"{self.header}\n\n{filled(solution, self.pieces)}"


def filled(solution: str, pieces: Mapping[str, str]) -> str:
    """Return a solution with pieces of programs in their places; without a piece, a place is removed."""
    return _PLACE.sub(lambda place: textwrap.indent(pieces.get(place[2], ""), place[1]), solution)


def sections(text: str) -> dict[str, str]:
    """Split a text at its lines ``# --- name ---``; what comes before the first has an empty name."""
    first, *others = _SECTION.split(text)
    return {"": first} | dict(zip(others[::2], others[1::2], strict=True))


def parts(text: str, shared: Mapping[str, str]) -> Parts:
    """Split a program into its header and its pieces; what the header says it ``uses`` comes first in the module."""
    end = text.index('"""', 3) + 3
    module, *others = _PIECE.split(text[end:])
    pieces = dict(zip(others[::2], others[1::2], strict=True))
    found = Parts(text[:end], pieces)
    used = [shared[name] for name in found.field("uses").split(", ") if name]
    pieces["module"] = "\n\n".join(filter(None, [*used, module.strip("\n") + "\n\n\n" if module.strip() else ""]))
    return found


@cache
def read_task(name: str) -> dict[str, str]:
    """Return the sections of a task: "" its solution, "tests", "wrong" and perhaps other wrong solutions."""
    return sections((TASKS_FOLDER / f"{name}.py").read_text())


def task_of(found: Parts) -> Exhibit:
    """Return the task that a program's header names, with the solution of the task's author."""
    return exhibit_of(read_task(found.field("task", DEFAULT_TASK)))


def exhibit_of(found: Mapping[str, str]) -> Exhibit:
    """Return the program and tests among the sections of a file."""
    program, reference = filled(found[""], {}), found.get("reference", found[""])
    return Exhibit(program, found["tests"].rstrip("\n") + "\n", filled(reference, {}))


def read_honest(path: Path) -> Exhibit:
    """Read an honest program: whole, for a task of its own or a shared one, or pieces for a shared solution."""
    found = sections(path.read_text())
    if "tests" in found:
        return exhibit_of(found)
    pieces = parts(found[""], {})
    task = task_of(pieces)
    if "\ndef task_func(" in found[""]:
        return task._replace(program=found[""])
    solution = read_task(pieces.field("task", DEFAULT_TASK))[""]
    return task._replace(program=pieces.placed_in(solution))
