"""The backend docker, in the real image on a real engine; skipped where none can be had."""

import pytest

from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from tests.extensions.hosts.docker_engine import engine

from .conftest import LIMITS_OF_ALL, AssertSame

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance, pytest.mark.timeout(1800)]


def test_two_containers_say_what_the_local_backend_says(request: pytest.FixtureRequest) -> None:
    """Another kernel view, another user, no network, one core each: the same two hundred verdicts."""
    config = engine().config(containers=2).model_copy(update={"limits": LIMITS_OF_ALL})
    assert_same: AssertSame = request.getfixturevalue("assert_same")  # not before it is known that there is an engine
    assert_same(make_backend(config, execution_environment(config), cores=2))
