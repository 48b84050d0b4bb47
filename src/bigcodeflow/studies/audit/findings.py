"""A finding of the audit: what is wrong with a task, where, and how to see it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

#: Kinds of findings. Undecided: what a mutant did not change may be an equivalent program,
#: and models that fail alike may be wrong alike.
WRONG_TEST, TOO_WEAK, UNDERSPECIFIED, FLAKY, NETWORK, ENVIRONMENT, UNDECIDED = (
    "wrong test", "too weak", "underspecified", "flaky", "network", "environment", "undecided",
)  # fmt: skip
#: The row of a task that holds the numbers of its mutants.
COUNTED = "counted"
MUTATION, CONTRADICTION, MODELS, EXECUTIONS, ERRATA = "mutation", "contradiction", "models", "executions", "errata"


class Finding(NamedTuple):
    """One row of the audit; the columns of ``core.schemas.STUDIES['audit']``."""

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
        """The finding as a row."""
        return self._asdict()


class MutantCounts(NamedTuple):
    """What became of a task's mutants."""

    killed: int = 0
    survived: int = 0
    apart: int = 0
    """Those in code that tests do not observe, whatever became of them."""
    equivalent: int = 0
    unjudged: int = 0
    possible: int = 0

    @property
    def score(self) -> float | None:
        """Share of those that the test notices, among those that it could; None where there are none."""
        total = self.killed + self.survived
        return self.killed / total if total else None


def score_of(row: Mapping[str, Any]) -> float | None:
    """The mutation score of a task's row of counts."""
    return MutantCounts(killed=row["killed"], survived=row["survived"]).score
