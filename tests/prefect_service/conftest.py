"""A service in an empty folder, of which nothing is left after the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.prefect_service.services import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Not started."""
    service = Service(tmp_path / "project")
    yield service
    service.kill()
