"""The backend e2b, through E2B's own SDK, against a double that runs what it is told."""

from pathlib import Path

import pytest

from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backend_registry import execution_environment, make_backend
from tests.remote.e2b_cloud import cloud, e2b_config

from .conftest import AssertSame
from .samples import LIMITS_OF_ALL

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance, pytest.mark.timeout(900)]


def test_sandboxes_in_the_cloud_say_what_the_local_backend_says(
    starter_environment: InstalledEnvironment, assert_same: AssertSame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sandboxes of one core each, whose output arrives in pieces of any size."""
    config = e2b_config(limits=LIMITS_OF_ALL)
    with cloud(monkeypatch, tmp_path) as double:
        double.chunk_bytes = 1000
        environment = execution_environment(config)
        assert environment.lock_sha256 == starter_environment.lock_sha256
        backend = make_backend(config, environment, cores=2)
        try:
            assert backend.check().warm
            assert_same(backend)
        finally:
            backend.close()
        assert not double.sandboxes
