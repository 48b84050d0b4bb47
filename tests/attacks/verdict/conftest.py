"""The programs of this folder, read with what their headers declare."""

from dataclasses import dataclass
from pathlib import Path

from tests.attacks.reading import DEFAULT_TASK, Exhibit, Parts, filled, parts, read_task, sections, task_of

PROGRAMS_FOLDER = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Attack:
    """One wrong solution with a trick that would make it pass."""

    name: str
    trick: Parts
    solution: str
    """The wrong solution, with the places of the trick."""

    @property
    def program(self) -> str:
        """The solution with the trick."""
        # An open end must meet the test text as it would in a sample: without a line end of the file's own.
        return self.trick.placed_in(self.solution).rstrip("\n")

    @property
    def without_trick(self) -> str:
        """The same wrong answer, given plainly."""
        return filled(self.solution, {})

    @property
    def threat(self) -> int:
        """Number of the threat that it carries out."""
        return int(self.name[1:3])

    @property
    def task(self) -> Exhibit:
        """The task that it pretends to solve."""
        return task_of(self.trick)

    @property
    def fools(self) -> str:
        """How an unguarded evaluator is convinced."""
        return self.trick.field("fools", "in-process")


def attacks() -> list[Attack]:
    """Every program of the folder, by name."""
    shared = {path.stem: path.read_text() for path in (PROGRAMS_FOLDER / "shared").glob("*.py")}
    return [_read(path, shared) for path in sorted(PROGRAMS_FOLDER.glob("t*.py"))]


def _read(path: Path, shared: dict[str, str]) -> Attack:
    found = sections(path.read_text())
    trick = parts(found[""], shared)
    task = read_task(trick.field("task", DEFAULT_TASK))
    name = ": ".join(filter(None, ["wrong", trick.field("wrong")]))
    return Attack(path.stem, trick, found.get("wrong", task[name]))
