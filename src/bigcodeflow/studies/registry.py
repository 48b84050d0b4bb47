"""Registry of the studies: their titles, their descriptions and the modules that make their tables."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from bigcodeflow.core.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


class Study(NamedTuple):
    """One kind of study."""

    title: str
    description: str
    """One sentence about the content of its tables."""
    module: str
    """Module in this package with a function ``tables(rows) -> list[Table]``: first the summary, then the evidence."""
    is_of_one_run: bool = False
    """True if a result is about a single run and says nothing about other runs of the same model."""

    def tables(self, rows: "pa.Table") -> list[Table]:
        """Return the tables that people read of a result."""
        module: Any = import_module(f"bigcodeflow.studies.{self.module}")
        return cast("list[Table]", module.tables(rows))


#: Studies by name, which is also the store folder, the catalog view, the flow, the command and the address.
STUDIES: Mapping[str, Study] = {
    "audit": Study(
        "Audit of tasks",
        "What the tests of tasks do not check, what models dispute, and which tasks cannot be judged reliably.",
        "audit.tables",
    ),
    "cheating": Study(
        "Cheating rate",
        "How many answers pass shown tests that contradict the task's description, of what kind, and what shows it.",
        "cheating.tables",
    ),
    "contamination": Study(
        "Contamination",
        "Which tasks' prompts, solutions and tests stand in a corpus, word by word or nearly so.",
        "contamination.tables",
    ),
    "evolution": Study(
        "Evolution",
        "Which tasks hold, drift or are dead under newer libraries, for which cause, and what models score there.",
        "evolution.tables",
    ),
    "perturbation": Study(
        "Perturbation",
        "How much less a model scores on variants of the tasks that mean the same, with intervals.",
        "perturbation.tables",
    ),
    "rounds": Study(
        "Repair rounds",
        "What a model corrects when it is told that its answers failed: scores, recall, cost and tokens by round.",
        "rounds.tables",
        is_of_one_run=True,
    ),
}
