"""Write own tasks in the row formats of LiveCodeBench and DS-1000, and answers that show every status.

    python data/benchmarks/build.py FOLDER

It writes scripts.jsonl, methods.jsonl and contexts.jsonl, and for each a file NAME_answers.jsonl with two answers a
task: the reference, and a program with the status that ``expected_status`` says.
"""

import base64
import inspect
import json
import pickle
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
from contexts import CONTEXTS  # noqa: E402 - its folder has no package
from problems import PROBLEMS  # noqa: E402

Row = dict[str, Any]
_PUBLIC = 2
#: Programs by their status, each for a function that is called {name}.
_FAULTS = {
    "fail": "def {name}(*given):\n    return None",
    "timeout": "def {name}(*given):\n    while True:\n        pass",
    "out_of_memory": "def {name}(*given):\n    return [b'x' * (1 << 26) for _ in range(1000)]",
    "syntax_error": "def {name}(:",
    "crash": "import os\ndef {name}(*given):\n    os._exit(0)",
    "tampered": "import sys\ndef {name}(*given):\n"
    "    module = sys.modules['__test__']\n    module.exec_test = module.TestCases.accepted = lambda *given: True",
}
_IMPORTS = "from collections import Counter\nfrom itertools import pairwise\n"
_READERS = {int: "int(input())", float: "float(input())", str: "input()", list[int]: "list(map(int, input().split()))"}
_CONTEXT = '''import copy
import numpy as np
import pandas as pd

def generate_test_case(test_case_id):
    def generate_ans(data):
        {name} = data
        return {reference}
    def define_test_input(test_case_id):
        return [{first}, {second}][test_case_id - 1]
    test_input = define_test_input(test_case_id)
    return test_input, generate_ans(copy.deepcopy(test_input))

def exec_test(result, ans):
    try:
        if isinstance(ans, (pd.DataFrame, pd.Series)):
            getattr(pd.testing, f"assert_{{type(ans).__name__.replace('Data', '').lower()}}_equal")(result, ans)
        else:
            np.testing.assert_array_equal(result, ans)
            assert isinstance(ans, np.ndarray) or result == ans
        return 1
    except Exception:
        return 0

exec_context = r"""
import numpy as np
import pandas as pd
{name} = test_input
[insert]
"""

def test_execution(solution: str):
    code = exec_context.replace("[insert]", solution)
    for i in range(2):
        test_input, expected_result = generate_test_case(i + 1)
        test_env = {{"test_input": test_input}}
        exec(code, test_env)
        assert exec_test(test_env["result"], expected_result)
'''
_CONTEXT_PROMPT = """Problem:
Set result to {question}.

A:
<code>
import numpy as np
import pandas as pd
{name} = load_data()
</code>
result = ... # put solution in this variable
BEGIN SOLUTION
<code>
"""


def _private(cases: list[Row]) -> str:
    """Encode cases as the benchmark does."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(cases)))).decode()


def _line(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _problem(number: int, function: Callable[..., Any], cases: list[Row], starter: str) -> Row:
    name = function.__name__
    return {
        "question_title": name,
        "question_content": inspect.getdoc(function) or "",
        "platform": "own",
        "question_id": str(number),
        "contest_id": "own",
        "contest_date": f"2024-{number % 12 + 1:02d}-01T00:00:00",
        "starter_code": starter,
        "difficulty": ("easy", "medium", "hard")[number % 3],
        "public_test_cases": json.dumps(cases[:_PUBLIC]),
        "private_test_cases": _private(cases[_PUBLIC:]),
        "metadata": json.dumps({"func_name": name} if starter else {}),
    }


def _answers(task_id: str, number: int, name: str, reference: str, call: str) -> Iterator[Row]:
    """Yield the reference, and a program whose function ``name`` has a fault; ``call`` follows it."""
    status = list(_FAULTS)[number % len(_FAULTS)]
    for expected, program in (("pass", reference), (status, f"{_FAULTS[status].format(name=name)}\n{call}")):
        yield {"task_id": task_id, "raw_solution": f"```python\n{program}\n```", "expected_status": expected}


def scripts() -> Iterator[tuple[Row, Iterator[Row]]]:
    """Yield the rows of scripts with their answers."""
    for number, (function, inputs) in enumerate(PROBLEMS):
        parameters = inspect.signature(function).parameters
        outputs = [f"{_line(function(*given))}\n" for given in inputs]
        cases = [
            {"input": "".join(f"{_line(one)}\n" for one in given), "output": output, "testtype": "stdin"}
            for given, output in zip(inputs, outputs, strict=True)
        ]
        row = _problem(number, function, cases, "")
        row["question_content"] += f"\nRead {', '.join(parameters)}, each from a line of its own, and print the result."
        reading = ", ".join(_READERS[one.annotation] for one in parameters.values())
        call = f"result = {function.__name__}({reading})\nprint(*(result if isinstance(result, list) else [result]))"
        program = f"{_IMPORTS}{inspect.getsource(function)}{call}"
        yield row, _answers(f"LiveCodeBench/{number}", number, function.__name__, program, call)


def methods() -> Iterator[tuple[Row, Iterator[Row]]]:
    """Yield the rows of methods with their answers."""
    for number, (function, inputs) in enumerate(PROBLEMS):
        name, parameters = function.__name__, ", ".join(inspect.signature(function).parameters)
        outputs = [json.dumps(function(*given)) for given in inputs]
        cases = [
            {"input": "\n".join(map(json.dumps, given)), "output": output, "testtype": "functional"}
            for given, output in zip(inputs, outputs, strict=True)
        ]
        starter = f"class Solution:\n    def {name}(self, {parameters}):\n        "
        call = f"class Solution:\n    def {name}(self, *given):\n        return {name}(*given)"
        program = f"{_IMPORTS}{inspect.getsource(function)}{call}"
        answers = _answers(f"LiveCodeBench/{number}", number, name, program, call)
        yield _problem(number, function, cases, starter), answers


def contexts() -> Iterator[tuple[Row, Iterator[Row]]]:
    """Yield the rows of contexts with their answers."""
    for number, (library, question, name, reference, (first, second)) in enumerate(CONTEXTS):
        solution = f"result = {reference}"
        row = {
            "prompt": _CONTEXT_PROMPT.format(question=question, name=name),
            "reference_code": solution,
            "metadata": {"problem_id": number, "library": library, "test_case_cnt": 2},
            "code_context": _CONTEXT.format(name=name, reference=reference, first=first, second=second),
        }
        yield row, _answers(f"DS-1000/{number}", number, "made", solution, "result = made()")


def write(folder: Path) -> None:
    """Write all files."""
    for make in (scripts, methods, contexts):
        rows, answers = zip(*make(), strict=True)
        for suffix, found in (("", rows), ("_answers", [one for several in answers for one in several])):
            text = "".join(f"{json.dumps(row)}\n" for row in found)
            (folder / f"{make.__name__}{suffix}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
