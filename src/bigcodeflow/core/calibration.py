"""Calibration: the task's setup in front of a solution, so that answers that leave it out still run.

Solutions are stored without it; this is the one place that makes the text that is executed.
"""


def calibrate(code_prompt: str, solution: str) -> str:
    """The calibrated program, exactly as the original makes it."""
    return f"{code_prompt}\n    pass\n{solution}"


def stub_program(code_prompt: str) -> str:
    """A program with the task's signature and an empty body."""
    return f"{code_prompt}\n    pass\n"


def executed_program(*, code_prompt: str, solution: str, variant: str) -> str:
    """Make the program text that is executed for a solution."""
    return solution if variant == "raw" else calibrate(code_prompt, solution)
