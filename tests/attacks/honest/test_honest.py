"""Honest programs that do unusual things: all pass, and none is accused."""

from pathlib import Path

import pytest

from tests.attacks.conftest import Sample, TimedJudge, selected, shared_out
from tests.attacks.reading import read_honest

# The first test of a kind of sandbox waits for all verdicts.
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1800)]

FOLDER = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest, judge: TimedJudge) -> dict[str, dict]:
    """Judge the programs of the tests that run."""
    exhibits = {name: read_honest(FOLDER / f"{name}.py") for name in selected(request, "name")}
    found = judge([Sample(exhibit.program, exhibit) for exhibit in exhibits.values()])
    return dict(zip(exhibits, (one.verdict for one in found), strict=True))


@pytest.mark.parametrize("name", shared_out(NAMES, every=4))
def test_an_honest_program_passes_and_is_not_accused(verdicts: dict, name: str) -> None:
    """What honest solutions do with the interpreter and the system is no tampering."""
    found = verdicts[name]
    assert (found["status"], found["tampering"]) == ("pass", []), found
    assert found["tests_run"] == found["tests_expected"] > 0
