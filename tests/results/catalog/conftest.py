"""An empty store."""

import pytest

from bigcodeflow.store import open_store


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "it's a [store]")
