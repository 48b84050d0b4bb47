"""The backend docker, in the real image on a real engine; skipped where none can be had."""

import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.execution.backend_registry import execution_environment, make_backend
from tests.remote.docker_engine import engine

from .conftest import AssertSame
from .samples import LIMITS_OF_ALL

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance, pytest.mark.timeout(1800)]


@pytest.fixture
def config() -> ExecutionConfig:
    return engine().config(containers=2).model_copy(update={"limits": LIMITS_OF_ALL})


def test_two_containers_say_what_the_local_backend_says(config: ExecutionConfig, assert_same: AssertSame) -> None:
    """Another kernel view, another user, no network, one core each: the same two hundred verdicts."""
    backend = make_backend(config, execution_environment(config), cores=2)
    try:
        assert backend.check().warm
        assert_same(backend)
    finally:
        backend.close()
