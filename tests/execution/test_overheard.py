"""Warnings of workers on their way into the log of the run."""

import logging
from collections.abc import Iterator

import pytest

from bigcodeflow.execution.worker_log_relay import Overheard, repeat

LOGGER = logging.getLogger("bigcodeflow.some.room")


@pytest.fixture
def overheard() -> Iterator[Overheard]:
    handler = Overheard()
    handler.start()
    yield handler
    handler.stop()


def test_warnings_are_taken_once(overheard: Overheard) -> None:
    """Formatted as they were meant, without what is less than a warning, and each one time."""
    LOGGER.info("nothing to speak of")
    LOGGER.warning("backend %s takes over", "local")
    logging.getLogger("another.library").warning("not ours")
    assert overheard.taken() == ["backend local takes over"]
    assert overheard.taken() == []


def test_what_is_repeated_is_not_heard_again(overheard: Overheard, caplog: pytest.LogCaptureFixture) -> None:
    """A run that shares its process with a worker would else repeat it for ever; a percent sign stays one."""
    repeat(["100 % of it"])
    assert overheard.taken() == []
    assert caplog.messages == ["100 % of it"]


def test_a_flood_keeps_its_end(overheard: Overheard) -> None:
    """Memory is bounded: what came last says most."""
    for number in range(1000):
        LOGGER.warning("number %d", number)
    taken = overheard.taken()
    assert len(taken) == 100
    assert taken[-1] == "number 999"
