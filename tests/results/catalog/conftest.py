"""An empty store."""

import pytest

from bigcodeflow.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "it's a [store]")
