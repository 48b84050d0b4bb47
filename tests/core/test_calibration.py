"""The text that is executed: the original's to the letter, but for what only robust solutions hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.calibration import calibrate, executed_program

PROMPT = "import os\ndef task_func(x):\n"
FUTURE = "from __future__ import annotations\nimport math\ndef task_func(x):\n    return x\n"


@given(st.text(), st.text(), st.sampled_from(["none", "parity"]))
def test_parity_and_recorded_solutions_are_calibrated_as_the_original_does(
    prompt: str, solution: str, sanitizer: str
) -> None:
    """code_prompt, a stub body, the solution; nothing else."""
    program = executed_program(code_prompt=prompt, solution=solution, variant="calibrated", sanitizer=sanitizer)
    assert program == calibrate(prompt, solution) == prompt + "\n    pass\n" + solution


@given(st.text(), st.sampled_from(["none", "parity", "robust"]))
def test_raw_is_the_solution_alone(solution: str, sanitizer: str) -> None:
    """The uncalibrated variant adds nothing."""
    assert executed_program(code_prompt=PROMPT, solution=solution, variant="raw", sanitizer=sanitizer) == solution


def test_a_robust_solution_keeps_its_future_imports_at_the_top() -> None:
    """Behind code_prompt they would be a syntax error, as they are in the original."""
    program = executed_program(code_prompt=PROMPT, solution=FUTURE, variant="calibrated", sanitizer="robust")
    compile(program, "program", "exec")
    assert program.startswith("from __future__ import annotations\nimport os\n")
    with pytest.raises(SyntaxError):
        compile(
            executed_program(code_prompt=PROMPT, solution=FUTURE, variant="calibrated", sanitizer="none"), "p", "exec"
        )
