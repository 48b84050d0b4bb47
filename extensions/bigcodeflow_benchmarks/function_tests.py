"""Make test texts that call a function with many inputs and compare its results with a reference solution's results.

The reference solution is executed once in a sandbox. A test contains the first results as literals and further results
in packed form. The reference solution computes very large results again when the test is executed.
"""

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.judge import Judge, Task
from bigcodeflow_benchmarks.plain_data import literal

_FOLDER = Path(__file__).parent
#: Texts that tests begin with: the base of their class, and for recording tests the function ``literal``.
CHECKS, _LITERAL = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("case_checks.py", "plain_data.py"))
#: Most characters of one result, of the results of a method that are literals, and of inputs that are a literal.
_MOST_CHARACTERS, _LITERAL_CHARACTERS, _INPUT_CHARACTERS = 1000, 3000, 2000
#: Test methods of each group of inputs: more methods make the check of a pass cheaper, and failures more exact.
_METHODS = 3
_OUTPUT_KIB = 16 << 10
_FLOAT = re.compile(r"\d[.e][-+\d]")
_MARK = "results: "
_RECORDING = """
import contextlib, io, json
class TestCases(CaseChecks):
    def test_results(self):
        found = []
        for given in self.unpacked({inputs!r}):
            with contextlib.redirect_stdout(io.StringIO()):
                value = {result}
            try:
                found.append(literal(value, {most}))
            except OverflowError:
                found.append(None)
        print({mark!r} + json.dumps(found))
"""
_ANSWERS = """
class TestCases(CaseChecks):
    def answers(self, inputs):
        for given in inputs:
            yield {entry_point}(*given)
"""
_RULE = """
    def accepted(self, found, expected, given, atol):
        return {rule}
"""
_REFERENCES = """
    def references(self, inputs):
        import copy
        names = {{}}
        exec({program!r}, names)
        return [names[{entry_point!r}](*copy.deepcopy(given)) for given in inputs]
"""


class Cases(NamedTuple):
    """Task without a test, and the inputs with which a test calls the task's function."""

    task: Mapping[str, Any]
    """Columns of the task by name, without the test."""
    inputs: Mapping[str, Sequence[Sequence[Any]]]
    """Lists of arguments by the name of an input group, such as 'base' or 'plus'."""
    atol: float | None = None
    """Absolute tolerance; 0 allows 1e-6 for floats and lists of floats only; None requires equal results."""
    rule: str = ""
    """Python expression with ``found``, ``expected``, ``given`` and ``atol``, true for accepted results; empty: ==."""
    result: str = ""
    """Python expression with ``given`` for the expected result; empty: the result of the reference solution."""

    @property
    def program(self) -> str:
        """Program of the reference: complete prompt and canonical solution."""
        return str(self.task["complete_prompt"] + self.task["canonical_solution"])


def expected_texts(cases: Sequence[Cases], environment: str) -> list[list[str | None]]:
    """Execute the reference solutions in a sandbox; return each task's results as source text, large results as None.

    Raises:
        DatasetError: a reference solution fails.
    """
    samples = []
    for one in cases:
        inputs = packed(literal([list(given) for group in one.inputs.values() for given in group]))
        result = one.result or f"{one.task['entry_point']}(*given)"
        text = _RECORDING.format(inputs=inputs, result=result, most=_MOST_CHARACTERS, mark=_MARK)
        samples.append((one.program, Task(f"{CHECKS}\n{_LITERAL}\n{text}")))
    with Judge(environment, limits=LimitsConfig(output_kib=_OUTPUT_KIB)) as judge:
        verdicts = judge.check_all(samples)
    found = []
    for one, verdict in zip(cases, verdicts, strict=True):
        if verdict["status"] != "pass":
            traces = [verdict["module_trace"], *(test["trace"] for test in verdict["tests"])]
            problem = f"the reference solution fails in environment {environment} ({verdict['status']})"
            raise DatasetError(
                f"{one.task['task_id']}: {problem}: {''.join(traces).strip().rpartition(chr(10))[2]}: "
                "check the environment with `bigcodeflow env check`"
            )
        found.append(json.loads(verdict["stdout"].rpartition(_MARK)[2]))
    return found


def packed(source: str) -> str:
    """Compress source text of plain data to the text that ``CaseChecks.unpacked`` reads."""
    return base64.b64encode(zlib.compress(source.encode(), 9)).decode()


def test_text(cases: Cases, expected: Sequence[str | None]) -> str:
    """Return the source of a test module; each method, such as test_base_1, checks results of an input group."""
    results, entry_point = iter(expected), cases.task["entry_point"]
    tolerance = f", rtol=1e-07, atol={cases.atol}" if cases.atol else ""
    if cases.atol == 0 and any(_FLOAT.search(text or "") for text in expected):
        tolerance = ", rtol=1e-07, atol=1e-06, floats_only=True"
    methods: list[str] = []
    for group, inputs in cases.inputs.items():
        pairs = list(zip(inputs, islice(results, len(inputs)), strict=True))
        size = max(1, -(-len(pairs) // _METHODS))
        for number, first in enumerate(range(0, len(pairs), size), start=1):
            methods.append(_method(f"test_{group}_{number}", pairs[first : first + size], tolerance))
    parts = [CHECKS, _ANSWERS.format(entry_point=entry_point)]
    parts += [_RULE.format(rule=cases.rule)] if cases.rule else []
    if any(text is None for text in expected):
        parts.append(_REFERENCES.format(program=cases.program, entry_point=entry_point))
    return "\n".join([*parts, *methods, ""])


def _method(name: str, pairs: Sequence[tuple[Sequence[Any], str | None]], tolerance: str) -> str:
    """Return the source of a test method for (input, result) ``pairs``; the test computes results that are None."""
    stated: list[tuple[Any, str]] = []
    packing: list[tuple[Any, str]] = []
    room = _LITERAL_CHARACTERS
    for given, text in pairs:
        if text is not None:
            room -= len(text)
            (stated if room > 0 else packing).append((given, text))
    large = [given for given, text in pairs if text is None]
    inputs = literal([*(list(given) for given, _ in (*stated, *packing)), *map(list, large)])
    inputs = inputs if len(inputs) <= _INPUT_CHARACTERS else f"self.unpacked({packed(inputs)!r})"
    expected = [f"[{', '.join(text for _, text in stated)}]"] if stated else []
    expected += [f"self.unpacked({packed('[' + ', '.join(text for _, text in packing) + ']')!r})"] if packing else []
    expected += [f"self.references(inputs[{len(stated) + len(packing)}:])"] if large else []
    assertion = "self.assert_allclose" if tolerance else "self.assert_equal"
    return f"""    def {name}(self):
        inputs = {inputs}
        {assertion}(self.answers(inputs), {" + ".join(expected)}, inputs{tolerance})"""
