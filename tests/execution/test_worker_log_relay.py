"""Warnings of workers on their way into the log of the run."""

import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from distributed import Client, LocalCluster

from bigcodeflow.execution.worker_plugin import BackendPlugin, WorkerLogRelay, close_backend, replay

LOGGER = logging.getLogger("bigcodeflow.some.module")


@pytest.fixture
def relay() -> Iterator[WorkerLogRelay]:
    handler = WorkerLogRelay()
    logging.getLogger("bigcodeflow").addHandler(handler)
    yield handler
    logging.getLogger("bigcodeflow").removeHandler(handler)


def test_warnings_are_taken_once(relay: WorkerLogRelay) -> None:
    """Formatted as they were meant, without what is less than a warning, and each one time."""
    LOGGER.info("nothing to speak of")
    LOGGER.warning("backend %s takes over", "local")
    logging.getLogger("another.library").warning("not ours")
    assert relay.taken() == ["backend local takes over"]
    assert relay.taken() == []


def test_what_is_replayed_is_not_taken_again(relay: WorkerLogRelay, caplog: pytest.LogCaptureFixture) -> None:
    """A run that shares its process with a worker would else repeat it for ever; a percent sign stays one."""
    replay(["100 % of it"])
    assert relay.taken() == []
    assert caplog.messages == ["100 % of it"]


def test_a_flood_keeps_its_end(relay: WorkerLogRelay) -> None:
    """Memory is bounded: what came last says most."""
    for number in range(1000):
        LOGGER.warning("number %d", number)
    taken = relay.taken()
    assert len(taken) == 100
    assert taken[-1] == "number 999"


class CostlyBackend:
    """Warns when it is closed."""

    def __init__(self, slots: int) -> None:
        del slots

    def close(self) -> None:
        LOGGER.warning("it cost 3 cents")


def test_what_a_backend_says_at_its_end_comes_back() -> None:
    """Such as what its cloud sandboxes have cost; a worker without the backend says nothing."""
    # By default Dask asks for the machine's own address, which a machine without a network has not.
    local = {"host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": None}
    with LocalCluster(n_workers=1, processes=False, **local) as cluster, Client(cluster) as client:
        executor = SimpleNamespace(writes_ledger=False, backend_of_worker=CostlyBackend)
        client.register_plugin(BackendPlugin("mine", executor))
        assert list(client.run(close_backend, "mine").values()) == [["it cost 3 cents"]]
        assert list(client.run(close_backend, "another").values()) == [[]]
