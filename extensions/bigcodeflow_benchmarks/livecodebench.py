"""LiveCodeBench: tasks that ask for a script or for a method of a class, with their dates of release."""

import base64
import json
import logging
import pickletools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bigcodeflow.core.calibration import AS_TEXT
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.datasets import Benchmark
from bigcodeflow_benchmarks import loaded_programs
from bigcodeflow_benchmarks.function_tests import Cases, packed, test_text
from bigcodeflow_benchmarks.plain_data import literal

#: Characters of the packed cases of a group; a test text has at most 200,000.
_MOST_CHARACTERS = 90_000
_logger = logging.getLogger(f"bigcodeflow.{__name__}")
_FORMAT = """### Format: You will use the following starter code to write the solution to the problem and enclose your \
code within delimiters.
```python
{starter_code}
```
"""
_SCRIPT_FORMAT = """### Format: Read the inputs from stdin solve the problem and write the answer to stdout (do not \
directly test on the sample inputs). Enclose your code within delimiters as follows. Ensure that when the python \
program runs, it reads the inputs, runs the algorithm and writes output to STDOUT.
```python
# YOUR CODE HERE
```
"""
_SYSTEM = (
    "You are an expert Python programmer. You will be given a question (problem specification) and will generate a "
    "correct Python program that matches the specification and passes all tests."
)
_RUNNING = Path(loaded_programs.__file__).read_text(encoding="utf-8").rstrip()
_TABLE = """import ast, base64, zlib
results = ast.literal_eval(zlib.decompress(base64.b64decode({results!r})).decode())
"""
#: The benchmark has no reference solutions: these print, or return, the expected results of the known inputs.
_KNOWN_OUTPUT = f"{_TABLE}import sys\nprint(results[sys.stdin.read()])\n"
_KNOWN_RESULT = _TABLE + "class Solution:\n    def {name}(self, *given):\n        return results[repr(given)]\n"


def test_cases(text: str) -> list[dict[str, str]]:
    """Read test cases from JSON, or from base64 of a compressed pickle that may hold only a single JSON text."""
    try:
        found = json.loads(text)
    except ValueError:
        pickled = zlib.decompress(base64.b64decode(text))
        operations = [(code.name, argument) for code, argument, _ in pickletools.genops(pickled)]
        texts = [str(argument) for name, argument in operations if "UNICODE" in name]
        if len(texts) != 1 or {name for name, _ in operations if "UNICODE" not in name} - _HARMLESS:
            raise ValueError("the pickle of its test cases must hold a single text and nothing else") from None
        found = json.loads(texts[0])
    return list(found)


_HARMLESS = {"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"}


def _fitting(cases: Sequence[dict[str, str]], question: str) -> list[dict[str, str]]:
    """Return as many cases as fit into a test text, the smallest first; log the number of omitted cases."""
    kept: list[dict[str, str]] = []
    room = _MOST_CHARACTERS
    for case in sorted(cases, key=lambda case: len(case["input"]) + len(case["output"])):
        room -= len(packed(case["input"] + case["output"]))
        if room < 0:
            _logger.warning(
                "question %s: %d of %d cases are too large for a test text, and are left out",
                question,
                len(cases) - len(kept),
                len(cases),
            )
            break
        kept.append(case)
    return kept


def _task(row: Mapping[str, Any]) -> dict[str, Any]:
    groups = {
        group: _fitting(test_cases(row[f"{group}_test_cases"]), row["question_id"]) for group in ("public", "private")
    }
    cases = [case for group in groups.values() for case in group]
    starter, name = row["starter_code"], json.loads(row["metadata"] or "{}").get("func_name", "")
    if name:
        inputs = [[json.loads(line) for line in case["input"].split("\n")] for case in cases]
        outputs = [json.loads(case["output"]) for case in cases]
        rule = "(list(found) if isinstance(found, tuple) else found) == expected"
        known = {repr(tuple(given)): output for given, output in zip(inputs, outputs, strict=True)}
        program, entry_point = _KNOWN_RESULT, "call_method"
    else:
        inputs, outputs = [[case["input"]] for case in cases], [case["output"] for case in cases]
        known, rule = {case["input"]: case["output"] for case in cases}, "self.same_output(found, expected)"
        program, entry_point = _KNOWN_OUTPUT, "run_script"
    question = row["question_content"]
    format_text = _FORMAT.format(starter_code=starter) if starter else _SCRIPT_FORMAT
    count = len(groups["public"])
    task = {
        "task_id": f"LiveCodeBench/{row['question_id']}",
        "complete_prompt": "".join(f"# {line}\n" for line in f"{question}\n{starter}".splitlines()),
        "instruct_prompt": f"{question}\n\n{format_text}\n### Answer: (use the provided format with backticks)",
        "canonical_solution": row.get("reference_code") or program.format(results=packed(literal(known)), name=name),
        "code_prompt": f"{AS_TEXT}METHOD = {name!r}\n{_RUNNING}",
        "entry_point": entry_point,
        "doc_struct": json.dumps({"released": row["contest_date"][:10], "difficulty": row["difficulty"]}),
    }
    made = Cases(task, {"public": inputs[:count], "private": inputs[count:]}, rule=rule)
    return {**task, "test": test_text(made, [literal(one) for one in outputs])}


def _tasks(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        try:
            yield _task(row)
        except (ValueError, KeyError, zlib.error) as error:
            raise DatasetError(f"question {row['question_id']}: cannot be read: {error}: replace the row") from None


BENCHMARK = Benchmark(
    _tasks,
    version=1,
    release="code_generation_lite",
    license="CC",
    columns=(
        *("question_id", "question_content", "contest_date", "starter_code", "difficulty", "metadata"),
        *("public_test_cases", "private_test_cases"),
    ),
    settings={
        "dataset.split": "instruct",
        "generation.prompt.system": _SYSTEM,
        "generation.prompt.instruction_prefix": "### Question:",
        "generation.sampling.temperature": 0.2,
        "generation.sampling.max_tokens": 2000,
        "sanitizing.mode": "fenced",
        "execution.environment": "starter",
        "execution.variants": ["calibrated"],
        "execution.limits.time_seconds": 60,
        "execution.limits.memory_mib": 4096,
    },
    parts={"public": "test_public"},
)
