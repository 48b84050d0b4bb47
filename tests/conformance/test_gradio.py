"""The space, over a real Gradio server and client on loopback."""

from pathlib import Path

import pytest
from bigcodeflow.execution.remote.gradio import GradioBackend

from bigcodeflow.config import ServiceConfig
from bigcodeflow.environments import InstalledEnvironment
from tests.serving.space_process import SpaceProcess

from .conftest import AssertSame
from .samples import LIMITS_OF_ALL

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance]


def test_a_space_says_what_the_local_backend_says(
    starter_environment: InstalledEnvironment,
    assert_same: AssertSame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a key, in sixteen conversations at once."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", "a key of the test")
    space = SpaceProcess(tmp_path, key="a key of the test")
    backend = GradioBackend(ServiceConfig(url=space.url), LIMITS_OF_ALL, "warm")
    try:
        assert backend.check().warm
        assert_same(backend)
    finally:
        backend.close()
        space.stop()
