"""An S3 server, and Dask processes that end with the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scaleout.hosts import DaskHosts
from tests.store.s3 import new_bucket, s3_server


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the S3 server that the process and its children are pointed at."""
    with s3_server(tmp_path_factory.mktemp("replicas")) as address:
        yield address


@pytest.fixture
def s3_url(endpoint: str) -> str:
    """A new store's URL."""
    return f"s3://{new_bucket()}/store"


@pytest.fixture
def dask_hosts(tmp_path: Path) -> Iterator[DaskHosts]:
    """A folder of Dask processes, all of which end with the test."""
    folder = tmp_path / "dask"
    folder.mkdir()
    with DaskHosts(folder) as hosts:
        yield hosts
