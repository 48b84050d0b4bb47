"""Findings of the audit: what is wrong with a task, where, and how to reproduce it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

#: Kinds of findings. Undecided: a surviving mutant may be an equivalent program,
#: and models that fail alike may make the same mistake.
WRONG_TEST, TOO_WEAK, UNDERSPECIFIED, FLAKY, NETWORK, ENVIRONMENT, UNDECIDED = (
    "wrong test", "too weak", "underspecified", "flaky", "network", "environment", "undecided",
)  # fmt: skip
#: Kind of the row that holds the mutant counts of a task.
COUNTED = "counted"
MUTATION, CONTRADICTION, MODELS, EXECUTIONS, ERRATA = "mutation", "contradiction", "models", "executions", "errata"


class Finding(NamedTuple):
    """One row of the audit, with columns of ``core.schemas.STUDIES['audit']``."""

    task_id: str
    method: str
    kind: str
    text: str
    line: int | None = None
    operator: str = ""
    before: str = ""
    after: str = ""
    command: str = ""

    def row(self) -> dict[str, Any]:
        """Return the finding as a row."""
        return self._asdict()


class MutantCounts(NamedTuple):
    """Numbers of a task's mutants by outcome."""

    killed: int = 0
    survived: int = 0
    apart: int = 0
    """Mutants in code that tests are not expected to observe, whatever their outcome."""
    equivalent: int = 0
    unjudged: int = 0
    possible: int = 0

    @property
    def score(self) -> float | None:
        """Share of killed mutants among killed and surviving ones; None if there are no such mutants."""
        total = self.killed + self.survived
        return self.killed / total if total else None


def score_of(row: Mapping[str, Any]) -> float | None:
    """Return the mutation score of a task's row of counts."""
    return MutantCounts(killed=row["killed"], survived=row["survived"]).score
