"""The double of E2B, for tests of the backend and of plans."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bigcodeflow.judge.environments import RemoteEnvironment
from bigcodeflow_hosts.e2b import E2BBackend
from tests.extensions.hosts.e2b import E2BDouble
from tests.extensions.hosts.e2b_cloud import STARTER, cloud, e2b_config, quick_launcher


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[E2BDouble]:
    """E2B whose hosts execute nothing."""
    with cloud(monkeypatch, tmp_path, script=quick_launcher()) as double:
        yield double


@pytest.fixture
def backend_with(double: E2BDouble) -> Iterator[Callable[..., E2BBackend]]:
    """Makes backends for the template's newest build, and closes them."""
    made = []

    def make(**e2b: object) -> E2BBackend:
        config = e2b_config(e2b=e2b)
        build = double.templates[STARTER].builds[-1].build_id
        made.append(E2BBackend(config, RemoteEnvironment("starter", "sha", reference=f"{STARTER}:{build}")))
        return made[-1]

    yield make
    for backend in made:
        backend.close()
