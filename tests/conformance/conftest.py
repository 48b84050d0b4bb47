"""What each backend is compared with: the local one, on the same samples, on this machine."""

from collections.abc import Callable

import pytest

from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.backends.local import Admission, LocalBackend
from bigcodeflow.execution.items import WorkItem

from .samples import LIMITS_OF_ALL, Judged, conformance_items, judged

AssertSame = Callable[[Backend], None]


@pytest.fixture(scope="session")
def samples() -> dict[str, WorkItem]:
    return conformance_items()


@pytest.fixture(scope="session")
def local_verdicts(starter_environment: InstalledEnvironment, samples: dict[str, WorkItem]) -> list[Judged]:
    """The local backend's verdicts."""
    backend = LocalBackend(starter_environment, LIMITS_OF_ALL, warm=True, admission=Admission(2))
    backend.check()
    try:
        return judged(backend, samples)
    finally:
        backend.close()


@pytest.fixture(scope="session")
def assert_same(samples: dict[str, WorkItem], local_verdicts: list[Judged]) -> AssertSame:
    """Fails where a backend says anything else of a sample than the local one."""

    def compare(backend: Backend) -> None:
        differences = [
            f"{mine} but here {theirs}"
            for mine, theirs in zip(local_verdicts, judged(backend, samples), strict=True)
            if mine != theirs
        ]
        assert not differences, "\n".join(differences[:10])

    return compare
