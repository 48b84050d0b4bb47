"""Programs that attack the judge: they are programs, they take turns, and sanitizers leave them as they are."""

import pytest

from bigcodeflow.generation.controls import CHEATS, cheat, cheat_name
from bigcodeflow.sanitizing.parity import parity_solution
from bigcodeflow.sanitizing.robust import robust_solution


def _task(position: int) -> dict:
    return {"position": position, "entry_point": "answer"}


def test_every_attack_takes_its_turn() -> None:
    """The tasks' positions alone say which attack is made, and each is made equally often."""
    names = [cheat_name(_task(position)) for position in range(2 * len(CHEATS))]
    assert names == [*CHEATS, *CHEATS]


@pytest.mark.parametrize("position", range(len(CHEATS)), ids=list(CHEATS))
def test_a_cheat_is_a_program_that_sanitizers_keep(position: int) -> None:
    """It defines the task's entry point and compiles, also after a sanitizer: else it would attack nothing."""
    program = cheat(_task(position))
    kept = {line for line in program.splitlines() if line.strip()}
    for text in (program, parity_solution(program, "answer"), robust_solution(program, "answer")):
        compile(text, "cheat", "exec")
        assert "def answer(" in text
        assert {line for line in text.splitlines() if line.strip()} == kept
