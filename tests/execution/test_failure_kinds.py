"""Why a sample failed: what each kind means, whatever the traceback looks like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.tracebacks import raised
from bigcodeflow.judge.failure_kinds import KINDS, failure_kind, setup_names
from tests.conftest import ROOT

PROGRAM = """import random
class Own:
    def method(self): return 1
def helper(a): return a
def task_func(value):
    rows = [value]
    return rows.nothing()
"""
#: Line 8 ends the program; the test's text begins in line 9.
TEST = """import unittest
class Response:
    pass
class TestCases(unittest.TestCase):
    def test_a(self):
        self.assertEqual(task_func(1), 2)
"""
IN_PROGRAM = [(13, "test_a"), (7, "task_func")]
IN_TEST = [(13, "test_a")]
IN_A_LIBRARY = [*IN_PROGRAM, ("pandas/frame.py", 9)]
BY_THE_TEST = [*IN_PROGRAM, (10, "json")]
BEFORE = [(12, "setUp")]


def _trace(error: str, frames: list) -> str:
    lines = ["Traceback (most recent call last):"]
    for first, second in frames:
        is_file = isinstance(first, str)
        place = f'"{first}", line {second}, in f' if is_file else f'"__test__.py", line {first}, in {second}'
        lines += [f"  File {place}", "    source of the line"]
    return "\n".join([*lines, error, ""])


def _kind(error: str, frames: list, *, program: str = PROGRAM, setup: frozenset[str] = frozenset()) -> str:
    trace = _trace(error, frames)
    return failure_kind(trace, raised(trace).exception, program=program, test=TEST, setup=setup)


@pytest.mark.parametrize(
    ("error", "frames", "kind"),
    [
        ("AssertionError: 1 != 2", IN_TEST, "assertion"),
        ("AssertionError: frames differ", [*IN_TEST, ("numpy/testing.py", 3)], "assertion"),
        ("AssertionError: own check", IN_PROGRAM, "exception"),
        ("AssertionError: in the test's callback", BY_THE_TEST, "assertion"),
        ("TypeError: cannot unpack non-iterable NoneType object", IN_TEST, "unusable_result"),
        ("AttributeError: 'NoneType' object has no attribute 'get_title'", IN_TEST, "unusable_result"),
        ("AttributeError: 'numpy.ndarray' object has no attribute 'iloc'", IN_TEST, "unusable_result"),
        ("FileNotFoundError: [Errno 2] No such file: 'out.csv'", IN_TEST, "unusable_result"),
        ("KeyError: 'mean'", [*IN_TEST, ("pandas/frame.py", 9)], "unusable_result"),
        ("RuntimeError: broken fixture", BEFORE, "exception"),
        ("AttributeError: module 'numpy' has no attribute 'float'", IN_PROGRAM, "wrong_api"),
        ("AttributeError: 'DataFrame' object has no attribute 'append'. Did you mean: '_append'?", IN_A_LIBRARY, "wrong_api"),
        ("AttributeError: type object 'datetime.datetime' has no attribute 'timedelta'", IN_PROGRAM, "wrong_api"),
        ("AttributeError: 'str' object has no attribute 'nothing'", IN_PROGRAM, "wrong_api"),
        ("AttributeError: QuadMesh.set() got an unexpected keyword argument 'label'", IN_A_LIBRARY, "wrong_api"),
        ("TypeError: Random.randint() takes 3 positional arguments but 4 were given", IN_PROGRAM, "wrong_api"),
        ("TypeError: date_range() got an unexpected keyword argument 'closed'", IN_A_LIBRARY, "wrong_api"),
        ("TypeError: 'colour' is an invalid keyword argument for print()", IN_PROGRAM, "wrong_api"),
        ("TypeError: AES.__init__() missing 1 required positional argument: 'key'", IN_PROGRAM, "wrong_api"),
        ("TypeError: pow expected at least 2 arguments, got 1", IN_PROGRAM, "wrong_api"),
        ("TypeError: helper() takes 1 positional argument but 2 were given", IN_PROGRAM, "exception"),
        ("TypeError: Own.method() got an unexpected keyword argument 'x'", IN_PROGRAM, "exception"),
        ("TypeError: task_func.<locals>.f() missing 1 required positional argument: 'x'", IN_PROGRAM, "exception"),
        ("TypeError: <lambda>() takes 1 positional argument but 2 were given", IN_A_LIBRARY, "exception"),
        ("AttributeError: 'NoneType' object has no attribute 'group'", IN_PROGRAM, "exception"),
        ("AttributeError: 'list' object has no attribute 'reshape'", IN_PROGRAM, "exception"),
        ("AttributeError: 'str' object has no attribute 'coordinate'", IN_PROGRAM, "exception"),
        ("AttributeError: 'Own' object has no attribute 'other'", IN_PROGRAM, "exception"),
        ("AttributeError: 'Response' object has no attribute 'content'", IN_PROGRAM, "exception"),
        ("AttributeError: 'Mock' object has no attribute 'close'", IN_PROGRAM, "exception"),
        ("AttributeError: module '__test__' has no attribute 'x'", IN_PROGRAM, "exception"),
        ("TypeError: 'NoneType' object is not callable", IN_PROGRAM, "exception"),
        ("TypeError: unsupported operand type(s) for +: 'int' and 'str'", IN_PROGRAM, "exception"),
        ("AttributeError: module 'numpy' has no attribute 'float'", BY_THE_TEST, "exception"),
        ("NameError: name 'np' is not defined", IN_PROGRAM, "missing_setup"),
        ("NameError: name 'BytesIO' is not defined. Did you mean: 'bytes'?", IN_PROGRAM, "missing_setup"),
        ("NameError: name 'LETTERS' is not defined", IN_PROGRAM, "missing_setup"),
        ("NameError: name 'task_func' is not defined", IN_TEST, "missing_setup"),
        ("AttributeError: <module '__test__' from '__test__.py'> does not have the attribute 'requests'", IN_TEST, "missing_setup"),
        ("NameError: name 'heights' is not defined", IN_PROGRAM, "exception"),
        ("NameError: name 'rows' is not defined", IN_PROGRAM, "exception"),
        ("NameError: free variable 'x' referenced before assignment in enclosing scope", IN_PROGRAM, "exception"),
        ("UnboundLocalError: local variable 'np' referenced before assignment", IN_PROGRAM, "exception"),
        ("ModuleNotFoundError: No module named 'pandas'", IN_PROGRAM, "import"),
        ("ImportError: cannot import name 'x' from 'nltk'", [(1, "<module>")], "import"),
        ("SyntaxError: '{' was never closed", [*IN_PROGRAM, ("ast.py", 50)], "exception"),
        ("MemoryError", IN_PROGRAM, "memory"),
        ("KeyError: 'x'", IN_A_LIBRARY, "exception"),
    ],
)  # fmt: skip
def test_a_traceback_has_the_kind_that_it_means(error: str, frames: list, kind: str) -> None:
    """Who raised decides before what was raised: the test, the program, or a library below one of them."""
    assert _kind(error, frames) == kind


def test_names_of_the_code_prompt_are_setup() -> None:
    """Its imports and constants, under any name, but not the arguments of its function."""
    names = setup_names("from math import pi as half_turn\nlow, high = 1, 2\ndef task_func(heights):")
    assert names == {"half_turn", "low", "high", "task_func"}
    assert setup_names("def (") == frozenset()
    assert _kind("NameError: name 'low' is not defined", IN_PROGRAM, setup=names) == "missing_setup"
    assert _kind("NameError: name 'heights' is not defined", IN_PROGRAM, setup=names) == "exception"


def test_a_text_that_does_not_compile() -> None:
    """Python names no frame for it."""
    trace = '  File "__test__.py", line 1\n    Sure!\n        ^\nSyntaxError: invalid syntax\n'
    assert failure_kind(trace, "SyntaxError Exception BaseException", program="Sure!", test=TEST) == "syntax"


@given(st.text(), st.text(), st.sampled_from(["", "NameError", "AttributeError", "TypeError", "ImportError", "Own"]))
def test_any_text_has_a_kind(message: str, program: str, name: str) -> None:
    """Whatever a program makes of its traceback, there is a kind, and it is one that can be asked for."""
    trace = _trace(f"{name}: {message}", IN_PROGRAM)
    for text in (trace, message, f"{name}: name '{message}' is not defined"):
        assert failure_kind(text, f"{name} Exception", program=program, test=TEST) in KINDS


@pytest.mark.parametrize(
    ("error", "program"),
    [
        ("NameError: name 'x' is not defined", "x" * 1_000_000),
        ("NameError: name 'x' is not defined", "for x in in x " * 70_000),
        ("NameError: name 'x' is not defined", "(" * 200_000),
        (f"NameError: name '{'x' * 1_000_000}' is not defined", PROGRAM),
        (f"AttributeError: 'str' object has no attribute '{'x' * 1_000_000}'", PROGRAM),
        (f"TypeError: {'a.' * 500_000}() takes", "class " * 200_000),
        ("TypeError: f() takes 1", " \t" * 500_000 + "def f"),
    ],
)
def test_endless_text_has_a_kind(error: str, program: str) -> None:
    """A message or a program of a million characters neither fails nor takes the run's time."""
    assert _kind(error, IN_PROGRAM, program=program) in KINDS


def test_the_documentation_explains_every_kind() -> None:
    """A kind that somebody filters by can be looked up."""
    page = (ROOT / "docs/execution.md").read_text()
    table = page[page.index("| failure_kind | meaning |") : page.index("## The machine's fault")]
    cells = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    assert {name.strip() for cell in cells for name in cell.split(",")} == set(KINDS)
