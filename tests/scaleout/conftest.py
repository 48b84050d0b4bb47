"""An S3 server, and Dask processes that end with the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scaleout.hosts import DaskHosts
from tests.store.s3 import new_bucket


@pytest.fixture
def s3_url(s3_endpoint: str) -> str:
    """A new store's URL."""
    return f"s3://{new_bucket()}/store"


@pytest.fixture
def dask_hosts(tmp_path: Path) -> Iterator[DaskHosts]:
    """A folder of Dask processes, all of which end with the test."""
    folder = tmp_path / "dask"
    folder.mkdir()
    with DaskHosts(folder) as hosts:
        yield hosts
