"""Honest programs that do unusual things: all pass, and none is accused."""

from pathlib import Path

import pytest

from bigcodeflow.execution.integrity import checks
from tests.attacks.conftest import Judge, Sample
from tests.attacks.reading import read_honest

# The first test of a kind of sandbox waits for all verdicts.
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1800)]

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.fixture(scope="module")
def verdicts(judge: Judge) -> dict[str, dict]:
    """Judge all programs, each checked as an unusual one, whatever it does."""
    exhibits = [read_honest(path) for path in PROGRAMS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "is_unusual", lambda _program: True)
        found = judge([Sample(exhibit.program, exhibit) for exhibit in exhibits])
    return {path.stem: one.verdict for path, one in zip(PROGRAMS, found, strict=True)}


@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS])
def test_an_honest_program_passes_and_is_not_accused(verdicts: dict, name: str) -> None:
    """What honest solutions do with the interpreter and the system is no tampering."""
    found = verdicts[name]
    assert (found["status"], found["tampering"]) == ("pass", []), found
    assert found["tests_run"] == found["tests_expected"] > 0
