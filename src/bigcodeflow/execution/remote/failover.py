"""A second backend that takes what the first one cannot place."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.environments import Environment
from bigcodeflow.execution.backends.base import Backend, Capabilities, Outcome
from bigcodeflow.execution.items import WorkItem

logger = logging.getLogger(__name__)


class FailoverBackend:
    """Executes in the first backend, and in the second what the first has no place for.

    Only what was never started goes to the second: an outcome, whatever it is, is the first one's and stands.
    """

    def __init__(self, first: Backend, second: Backend, environment: Environment) -> None:
        """Neither is started before it is needed.

        Args:
            first: the one that the configuration names.
            second: its fallback.
            environment: the second one's, which its verdicts name.
        """
        self.name = first.name
        self._first, self._second, self._environment = first, second, environment
        self._told = False

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """What the first can promise, or the second where the first is not to be had.

        Raises:
            SandboxUnavailableError: neither is.
        """
        try:
            return self._first.check(allow_unisolated=allow_unisolated)
        except SandboxUnavailableError as error:
            self._tell(str(error))
            return self._second.check(allow_unisolated=allow_unisolated)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """As the first prepares them; libraries are the same in both, and with them what an item preloads."""
        return self._first.prepare(items)

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item where it can be run."""
        outcome = self._first.execute(item)
        if not outcome.not_started:
            return outcome
        self._tell(outcome.exit)
        second = self._second.execute(item)
        if second.not_started:
            return replace(second, exit=f"{outcome.exit}; {second.exit}")
        return replace(second, backend=self._second.name, environment_sha=self._environment.environment_sha)

    def close(self) -> None:
        """End both."""
        self._first.close()
        self._second.close()

    def _tell(self, why: str) -> None:
        if not self._told:
            self._told = True
            logger.warning("backend %s takes over where %s cannot: %s", self._second.name, self._first.name, why)
