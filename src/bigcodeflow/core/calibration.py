"""Calibration: put the task's setup in front of a solution, so that answers that leave it out still run.

Solutions are stored without the setup; only this module builds the text that is executed.
"""


def calibrate(code_prompt: str, solution: str) -> str:
    """Return the calibrated program, exactly as the original builds it."""
    return f"{code_prompt}\n    pass\n{solution}"


def stub_program(code_prompt: str) -> str:
    """Return a program with the task's signature and an empty body."""
    return f"{code_prompt}\n    pass\n"


def executed_program(*, code_prompt: str, solution: str, variant: str) -> str:
    """Return the program text that is executed for a solution: the solution itself if raw, else calibrated."""
    return solution if variant == "raw" else calibrate(code_prompt, solution)
