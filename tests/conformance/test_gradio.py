"""The space, over a real Gradio server and client on loopback."""

from pathlib import Path

import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backend_registry import execution_environment, make_backend
from tests.serving.space_process import SpaceProcess

from .conftest import AssertSame
from .samples import LIMITS_OF_ALL

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance]


def test_a_space_says_what_the_local_backend_says(
    starter_environment: InstalledEnvironment, assert_same: AssertSame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a key, sixteen items at once."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", "a key of the test")
    space = SpaceProcess(tmp_path, key="a key of the test")
    config = ExecutionConfig(backend="gradio", service=ServiceConfig(url=space.url), limits=LIMITS_OF_ALL)
    backend = make_backend(config, execution_environment(config), cores=2)
    try:
        assert backend.check().warm
        assert_same(backend)
    finally:
        backend.close()
        space.stop()
