"""Stores of both kinds, each seen from several machines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bigcodeflow.store import Store, open_store
from tests.doubles.faulty_proxy import FaultyProxy, faulty_proxy

from .s3 import forget_servers, new_bucket

Machine = Callable[[str], Store]
"""The store as a machine of that name sees it."""


@pytest.fixture
def s3_url(s3_endpoint: str) -> str:
    """A new store's URL."""
    return f"s3://{new_bucket()}/some/prefix"


@pytest.fixture
def s3_machine(s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A new store on S3 from any machine."""

    def of(name: str) -> Store:
        monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / name))
        return open_store(s3_url)

    return of


@pytest.fixture(params=["folder", "s3"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """The same new store from any machine; a folder is one that all machines share."""
    if request.param == "s3":
        return request.getfixturevalue("s3_machine")
    return lambda _name: open_store(tmp_path / "store")


@pytest.fixture
def proxy(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A proxy that everything opened from now on goes through."""
    with faulty_proxy(s3_endpoint) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        forget_servers()
        yield running
        forget_servers()
