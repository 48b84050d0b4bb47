"""Calibration: the task's setup in front of a solution, so that answers that leave it out still run.

Solutions are stored without it; this is the one place that makes the text that is executed.
"""

import re

_FUTURE = re.compile(r"(?:from __future__ import [^\n]*\n)+")


def calibrate(code_prompt: str, solution: str) -> str:
    """The calibrated program, exactly as the original makes it."""
    return f"{code_prompt}\n    pass\n{solution}"


def stub_program(code_prompt: str) -> str:
    """A program with the task's signature and an empty body."""
    return f"{code_prompt}\n    pass\n"


def executed_program(*, code_prompt: str, solution: str, variant: str, sanitizer: str) -> str:
    """The program text that is executed for a solution.

    Robust solutions may begin with ``from __future__``, which Python takes at the top only; the original's calibration
    makes a syntax error of it.
    """
    if variant == "raw":
        return solution
    future = _FUTURE.match(solution) if sanitizer == "robust" else None
    if future is None:
        return calibrate(code_prompt, solution)
    return future.group() + calibrate(code_prompt, solution[future.end() :])
