"""Calibration: put the task's setup in front of a solution, so that answers that leave it out still run.

Solutions are stored without the setup; only this module builds the text that is executed.
"""

#: Beginning of a code_prompt whose function ``load_program`` gets the solution as text: a script that is executed
#: for each input, or code that fills a hole.
AS_TEXT = "# load_program gets the solution as text.\n"


def calibrate(code_prompt: str, solution: str) -> str:
    """Join code_prompt, empty body and solution as the original does; after AS_TEXT, load the solution as text."""
    if code_prompt.startswith(AS_TEXT):
        return f"{stub_program(code_prompt)}load_program({solution!r})\n"
    return f"{code_prompt}\n    pass\n{solution}"


def stub_program(code_prompt: str) -> str:
    """Return a program with the task's signature and an empty body."""
    return f"{code_prompt}\n    pass\n"


def executed_program(*, code_prompt: str, solution: str, variant: str) -> str:
    """Return the program text that is executed for a solution: the solution itself if raw, else calibrated."""
    is_alone = variant == "raw" and not code_prompt.startswith(AS_TEXT)
    return solution if is_alone else calibrate(code_prompt, solution)
