"""Honest programs that do unusual things: all pass, and none is accused."""

from pathlib import Path

import pytest

from bigcodeflow.execution.integrity import checks
from tests.attacks.conftest import JudgeIn, read_exhibit

pytestmark = pytest.mark.sandbox

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.fixture(autouse=True)
def _everything_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check each program as an unusual one, whatever it does."""
    monkeypatch.setattr(checks, "is_unusual", lambda _program: True)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_honest_program_passes_and_is_not_accused(judge_in: JudgeIn, path: Path) -> None:
    """What honest solutions do with the interpreter and the system is no tampering."""
    exhibit = read_exhibit(path)
    found = judge_in(exhibit.program, exhibit)
    assert (found["status"], found["tampering"]) == ("pass", []), found
    assert found["tests_run"] == found["tests_expected"] > 0
