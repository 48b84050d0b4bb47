"""The host program of all remote backends, as a process on this machine."""

import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.remote.backend import RemoteBackend
from tests.remote.host_process import ProcessTransport

from .conftest import AssertSame
from .samples import LIMITS_OF_ALL

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance]


def test_two_hosts_say_what_the_local_backend_says(
    starter_environment: InstalledEnvironment, assert_same: AssertSame
) -> None:
    """Over standard streams, two hosts of one core each."""
    config = ExecutionConfig(backend="docker", limits=LIMITS_OF_ALL)
    backend = RemoteBackend(config, lambda: ProcessTransport("--cores", "1"), hosts=2)
    try:
        assert backend.check().warm
        assert_same(backend)
    finally:
        backend.close()
