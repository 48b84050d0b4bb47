"""What the documentation shows, as it stands there."""

import re
from pathlib import Path

import pytest

from tests.serving.services import KEY, RIGHT, TEST, Served

pytestmark = pytest.mark.sandbox

_PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def test_the_client_of_fifteen_lines_works(shared_service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives a reward for each program, in their order, and has fifteen lines."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)
    (text,) = re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    assert len([line for line in text.splitlines() if line]) <= 16
    names: dict = {}
    exec(text, names)
    found = names["rewards"]([RIGHT, "def task_func():\n    return 1\n", "x ="], TEST, shared_service.url)
    assert found == [1.0, 0.0, 0.0]


def test_every_option_is_documented() -> None:
    """Those of the command are those of the page."""
    from inspect import signature

    from bigcodeflow.cli.service import serve

    page = _PAGE.read_text()
    missing = [name for name in signature(serve).parameters if f"`--{name.replace('_', '-')}`" not in page]
    assert not missing


def test_every_status_is_documented(shared_service: Served) -> None:
    """Those of the description are those of the page."""
    told = shared_service.client.get("/openapi.json").json()
    statuses = {status for path in told["paths"].values() for one in path.values() for status in one["responses"]}
    page = _PAGE.read_text()
    assert [status for status in sorted(statuses) if status != "200" and status not in page] == []
