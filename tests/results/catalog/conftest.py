"""An empty store."""

import pytest

from bigcodeflow.artifacts import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "it's a [store]")
