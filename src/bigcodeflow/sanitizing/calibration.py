"""Calibration: what a program is preceded by, so that answers that leave the prompt's setup out still run."""


def calibrate(code_prompt: str, solution: str) -> str:
    """The calibrated program: the prompt's imports and constants, its entry point as a stub, then the solution."""
    return f"{code_prompt}\n    pass\n{solution}"
