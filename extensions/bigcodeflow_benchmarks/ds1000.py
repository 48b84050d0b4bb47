"""DS-1000: solutions fill a hole in a program; the task's own function compares its result with the reference."""

import ast
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from bigcodeflow.core.calibration import AS_TEXT
from bigcodeflow.datasets import Benchmark

_SYSTEM = (
    "Write a short code following the given format and indentation. Place the executable code between <code> and "
    "</code> tags, without any other non-executable things."
)
_TITLE = "Problem:"
_LIBRARIES = {"pytorch": "torch"}
#: Lines of plots that would end the figure before the test looks at it.
_SKIPPED = ("plt.show()", "plt.clf()", "plt.close()", "savefig")
_SETUP = '''{mark}def load_program(text):
    global solution, program
    lines = text.removeprefix({prompt!r}).split("\\n")
    solution = "\\n".join(line for line in lines if not any(part in line for part in {skipped!r}))
    program = compile({context!r}.replace("[insert]", solution), "<program>", "exec")
def solution_text():
    return solution
def execute(test_input):
    """Execute the context with the solution in its hole."""
    names = {{"test_input": test_input}}
    exec(program, names)
    return names["result"]'''
_TESTS = """
import unittest
class TestCases(unittest.TestCase):
    def assert_equal(self, result, expected):
        if not exec_test(result, expected):
            raise AssertionError("the result differs from the reference's")
"""
_TEST = """    def test_execution_{number}(self):
        test_input, expected = generate_test_case({number})
        self.assert_equal(execute(test_input), expected)
"""
_TEST_STRING = """    def test_string(self):
        test_string(solution_text())
"""


def _context(code: str) -> str:
    """Return the program whose hole a solution fills: the string that ``code`` assigns to the name exec_context."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "exec_context":
            return str(ast.literal_eval(node.value))
    raise ValueError("the code_context of a row does not assign exec_context: replace the row")


def _task(row: Mapping[str, Any]) -> dict[str, Any]:
    code, prompt, metadata = row["code_context"], row["prompt"], row["metadata"]
    counted = re.search(r"for \w+ in range\((\d+)\):\s+test_input", code)
    count = int(counted[1]) if counted else int(metadata["test_case_cnt"])
    tests = [_TEST.format(number=number) for number in range(1, count + 1)]
    tests += [_TEST_STRING] if "def test_string(" in code else []
    skipped = _SKIPPED if "skip_plt_cmds" in code else ()
    library = metadata["library"].lower()
    return {
        "task_id": f"DS-1000/{metadata['problem_id']}",
        "complete_prompt": prompt,
        "instruct_prompt": prompt.strip().removeprefix(_TITLE),
        "canonical_solution": row["reference_code"],
        "code_prompt": _SETUP.format(mark=AS_TEXT, prompt=prompt, context=_context(code), skipped=skipped),
        "entry_point": "execute",
        "test": f"{code}{_TESTS}{''.join(tests)}",
        "libs": [_LIBRARIES.get(library, library)],
    }


BENCHMARK = Benchmark(
    partial(map, _task),
    version=1,
    release="DS-1000",
    license="CC BY-SA 4.0",
    columns=("prompt", "reference_code", "metadata", "code_context"),
    settings={
        "dataset.split": "instruct",
        "generation.prompt.system": _SYSTEM,
        "generation.prompt.instruction_prefix": _TITLE,
        "generation.prompt.stop": ["</code>", "# SOLUTION END"],
        "generation.sampling.max_tokens": 1024,
        "sanitizing.mode": "fenced",
        "execution.environment": "bigcodebench",
        "execution.variants": ["calibrated"],
        "execution.limits.time_seconds": 120,
    },
)
