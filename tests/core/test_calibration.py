"""The text that is executed: the original's to the letter."""

from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.calibration import calibrate, executed_program

PROMPT = "import os\ndef task_func(x):\n"


@given(st.text(), st.text())
def test_solutions_are_calibrated_as_the_original_does(prompt: str, solution: str) -> None:
    """code_prompt, a stub body, the solution; nothing else."""
    program = executed_program(code_prompt=prompt, solution=solution, variant="calibrated")
    assert program == calibrate(prompt, solution) == prompt + "\n    pass\n" + solution


@given(st.text())
def test_raw_is_the_solution_alone(solution: str) -> None:
    """The uncalibrated variant adds nothing."""
    assert executed_program(code_prompt=PROMPT, solution=solution, variant="raw") == solution
