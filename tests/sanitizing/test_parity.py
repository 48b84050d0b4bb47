"""Parity gives what the original gives: the longest program of an answer, and what of it is kept."""

import sys
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bigcodeflow.core.calibration import executed_program
from bigcodeflow.sanitizing import sanitize
from bigcodeflow.sanitizing.grammar import parse_or_none
from bigcodeflow.sanitizing.parity import LineRange, longest_program, longest_program_range
from tests.examples import examples
from tests.sanitizing.conftest import Pair, answers, layouts

_LINES = 1_000
_CALLS_A_LINE = 150  # about 60 today; the exhaustive search would make some 500


def brute_force(text: str) -> str:
    """The longest program by trying every pair of lines, as the original does."""
    lines = text.split("\n")
    best, most = lines[:1], 0
    for first in range(len(lines)):
        for last in range(first + 1, len(lines)):
            picked = lines[first : last + 1]
            code = sum(1 for line in picked if line.strip())
            if code > most and parse_or_none("\n".join(picked)) is not None:
                best, most = picked, code
    return "\n".join(best)


@settings(max_examples=examples(200))
@given(text=layouts)
@example(text="\\\n\nfor i in x:")
@example(text="def f():\n\\\n      b")
@example(text="    \\\n\r")
@example(text="if x:\r  y\nelse:\n  z")
@example(text="try:\n  x\nelse:\n  y\nexcept: z")
@example(text="class A:\n  def f(): pass\n  @d\n\nx")
@example(text="@d\n\\\nasync def f():\n  z()\n@d\nasync for x in y: z")
@example(text='x = """\n"""; y = 1\n  z')
def test_equals_the_exhaustive_search_on_any_layout(text: str) -> None:
    """Whatever lines follow one another, the range is the one that trying every pair of lines finds."""
    assert longest_program(text) == brute_force(text)


@pytest.mark.real_data
def test_equals_the_exhaustive_search_on_damaged_answers(golden_pairs: list[Pair]) -> None:
    """A window of a real answer, cut anywhere and pierced by a stray line, gives what the exhaustive search finds."""
    strays = st.sampled_from(["'''", '"""', "(", "]", "```", "else:", "  x", "prose and more prose", "@d", "\\"])

    @settings(max_examples=examples(60), database=None)
    @given(pair=st.sampled_from(golden_pairs), data=st.data())
    def check(pair: Pair, data: st.DataObject) -> None:
        lines = pair.raw.split("\n")
        start = data.draw(st.integers(0, max(0, len(lines) - 8)))
        window = lines[start : start + data.draw(st.integers(1, 24))]
        window.insert(data.draw(st.integers(0, len(window))), data.draw(strays))
        text = "\n".join(window)
        assert longest_program(text) == brute_force(text)

    check()


@pytest.mark.parametrize(
    ("text", "program"),
    [
        pytest.param("a = 1\nb = 2\nnot a program\nc = 3\nd = 4", "a = 1\nb = 2", id="first of equally long ranges"),
        pytest.param("x y\na = 1\n\n\nb = 2\n\n\nx y", "a = 1\n\n\nb = 2", id="blank lines neither count nor trail"),
        pytest.param("so:\na = 1\nb = 2\\\n\n\n\nx y", "a = 1\nb = 2\\\n\n", id="a backslash needs blank lines"),
        pytest.param("I am sorry,\nI cannot help.", "I am sorry,", id="first line where nothing parses"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_which_range_is_taken(text: str, program: str) -> None:
    """The most lines of code, then the first start; without a program the first line, as in the original."""
    assert longest_program(text) == program


def test_single_line_is_a_program_only_with_a_blank_one() -> None:
    """A range has two lines at least, so that a lone statement is found together with the blank line after it."""
    assert longest_program_range("x y\na = 1\nx y") is None
    assert longest_program_range("x y\na = 1\n\nx y") == LineRange(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("This is prose, with words (and such).\n" * _LINES, id="prose"),
        pytest.param("It's \"quoted\" and 'unfinished\n" * _LINES, id="quotes"),
        pytest.param("foo(\n" * _LINES, id="open brackets"),
        pytest.param("foo(\n" + "1,\n" * _LINES, id="one open bracket"),
        pytest.param(("[\n" * 190 + "1\n" + "]\n" * 190) * 5, id="nested brackets"),
        pytest.param('"""\n' * (_LINES + 1), id="triple quotes"),
        pytest.param('x = (""" b\n' * _LINES, id="triple quotes within brackets"),
        pytest.param("'''\n\"\"\"\n" * (_LINES // 2), id="both triple quotes"),
        pytest.param("x = \\\n" * _LINES + "1", id="joined lines"),
        pytest.param("@d\n" * _LINES + "def f(): pass", id="decorators"),
        pytest.param("if x: pass\n" + "elif x: pass\n" * _LINES, id="clauses"),
        pytest.param("def f():\n" + "  y = 1\n" * _LINES + "  1 1\n" + "  y = 1\n" * _LINES, id="error in a long body"),
        pytest.param("\n".join(" " * depth + "try:" for depth in range(90)) + "\n" + " " * 90 + "x\n", id="tower"),
    ],
)
def test_work_grows_with_the_text(text: str) -> None:
    """The number of function calls for some 1,000 lines is linear, however the lines are arranged."""
    calls: Counter[str] = Counter()
    sys.setprofile(lambda _, event, __: calls.update([event]))
    try:
        longest_program(text)
    finally:
        sys.setprofile(None)
    assert calls["call"] + calls["c_call"] < _CALLS_A_LINE * _LINES


_ONE = "def task_func():\n    return 1"
_X = "def task_func():\n    return x\nx = 1"
_BY_PARAMETER = "df = 1\nkey = 2\ndef task_func(df):\n    return f(key=df)"


def parity(text: str) -> str:
    return sanitize(text, entry_point="task_func", mode="parity")


@pytest.mark.real_data
def test_equals_the_original_on_every_recorded_answer(golden_pairs: list[Pair]) -> None:
    """Recorded answers give exactly the solution that the original recorded with them."""
    different = [pair.task_id for pair in golden_pairs if parity(pair.raw) != pair.solution]
    assert different == []


@pytest.mark.parametrize(
    ("text", "solution"),
    [
        pytest.param(
            "A = 1\nB = 2\nimport os\ndef task_func():\n    return A\ndef other():\n    return B",
            "import os\nA = 1\ndef task_func():\n    return A",
            id="imports first, and only definitions that the entry point reaches",
        ),
        pytest.param(_BY_PARAMETER, _BY_PARAMETER, id="names of parameters reach definitions"),
        pytest.param(f"{_ONE}\ntask_func = 2\ndef task_func():\n    return 3", _ONE, id="first of several definitions"),
        pytest.param(
            "a.b = other\nc, d = other\ndef task_func():\n    return other",
            "a.b = other\ndef task_func():\n    return other",
            id="assignments to no name go by the name on their right side",
        ),
        pytest.param(
            f"{_X}\nr = task_func()\nreturn_value = r\nx = r", _X, id="trailing uses of the entry point are cut"
        ),
        pytest.param("import os\ndef task_func(x): return x", "import os", id="one line is lost"),
        pytest.param("import os\ntask_func = lambda x: x", "import os", id="lambda is lost"),
        pytest.param("import os\ndef task_func(x):\n\treturn x\n", "import os", id="tabs are lost"),
        pytest.param(f"import os\n@cache\n{_ONE}\n", "import os", id="decorated function is lost"),
        pytest.param("so:\nprint(1)\nprint(2)", "print(1)\nprint(2)", id="longest program where nothing is left"),
        pytest.param("I am sorry.\nNo code today.", "I am sorry.", id="first line where nothing is a program"),
        pytest.param("\n\nI am sorry.", "", id="empty first line"),
    ],
)
def test_solution_is_the_originals(text: str, solution: str) -> None:
    """What the original keeps, loses and falls back to: parity is a measure, not an opinion."""
    assert parity(text) == solution


@settings(max_examples=examples(100))
@given(text=answers)
def test_any_text_gives_text_that_can_be_stored(text: str) -> None:
    """NUL bytes, lone surrogates and fragments of any kind give UTF-8 text."""
    assert isinstance(parity(text).encode(), bytes)


def test_solutions_are_calibrated_as_the_original_does() -> None:
    """code_prompt, a stub body, the solution; raw is the solution alone."""
    executed = {one: executed_program(code_prompt="a", solution="b", variant=one) for one in ("calibrated", "raw")}
    assert executed == {"calibrated": "a\n    pass\nb", "raw": "b"}
