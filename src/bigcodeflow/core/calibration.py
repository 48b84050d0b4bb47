"""Calibration: put the task's setup in front of a solution, so that an answer that omits the setup still runs.

Solutions are stored without the setup; only this module builds the text that is executed.
"""

#: Beginning of a code_prompt whose function ``load_program`` gets the solution as text: a script that is executed
#: for each input, or code that fills a hole.
AS_TEXT = "# load_program gets the solution as text.\n"


def calibrate(code_prompt: str, solution: str) -> str:
    """Return ``code_prompt`` with an empty body, followed by the solution.

    If the prompt begins with AS_TEXT, a call of its function load_program with the solution as text follows instead.
    """
    if code_prompt.startswith(AS_TEXT):
        return f"{stub_program(code_prompt)}load_program({solution!r})\n"
    return f"{code_prompt}\n    pass\n{solution}"


def stub_program(code_prompt: str) -> str:
    """Return a program with the task's signature and an empty body."""
    return f"{code_prompt}\n    pass\n"


def executed_program(*, code_prompt: str, solution: str, variant: str) -> str:
    """Return `calibrate`'s result, or only ``solution`` if ``variant`` is 'raw' and the prompt has no AS_TEXT."""
    is_alone = variant == "raw" and not code_prompt.startswith(AS_TEXT)
    return solution if is_alone else calibrate(code_prompt, solution)
