"""Marks of a program before it runs: whether Python 3.10 compiles it, and whether it leaves work to others."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow.sanitizing import syntax_error
from bigcodeflow.sanitizing.grammar import newer_fstring_line, parse, parse_or_none
from bigcodeflow.sanitizing.statements import omitted_setup, placeholder, shortened
from tests.examples import examples
from tests.sanitizing.conftest import layouts

_NEWER = ["f'{a['b']}'", 'f"{"x"}"', "f'{\"\\n\".join(a)}'", "f'''{a # c\n}'''", 'f"{f"{a}"}"', "rf'{x['y']}'"]
_OLDER = ["f'{a[\"b\"]}'", "f'{{}}'", "f'{a:{b}}'", "f'{a!r:>{w}}'", "f'''{'x'}'''", "f'{a[1:2]}'", "f'{ {1: 2}[1] }'"]
_OLDER += ["f'{\"#\"}'", "f'\\n{a}'", "f'{a:%H:%M}'", "x = '' # f'{a['b']}'", "f'{(lambda x: x)(1)}'", "f''", "F'{a=}'"]


@pytest.mark.parametrize("program", _NEWER)
def test_f_strings_of_newer_pythons_are_refused(program: str) -> None:
    """An f-string that reuses its quotes, or holds a backslash or a comment, is no program for Python 3.10."""
    assert newer_fstring_line(f"x = 1\n{program}\n") == 2
    assert parse_or_none(program) is None


@pytest.mark.parametrize("program", _OLDER)
def test_f_strings_of_310_are_read(program: str) -> None:
    """An f-string that Python 3.10 reads is not refused, and neither is a string without a prefix."""
    assert newer_fstring_line(program) == newer_fstring_line("'{a['") == 0
    assert parse_or_none(program) is not None


@pytest.mark.parametrize("program", ["try: x\nexcept* E: y", "type X = int", "def f[T](): pass", "class A[T]: pass"])
def test_statements_of_newer_pythons_are_refused(program: str) -> None:
    """Syntax that came after 3.10 does not parse, although the Python that runs this may know it."""
    with pytest.raises(SyntaxError):
        parse(program)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer parsers read more than 3.10's f-strings")
@settings(max_examples=examples(400))
@given(text=st.text(alphabet="f'\"{}[]:#!\\ax =\n", max_size=14).map(lambda tail: f"f'{tail}"))
def test_what_an_older_python_reads_is_never_refused(text: str) -> None:
    """The search for newer f-strings finds none in a text that a Python before 3.12 parses."""
    if parse_or_none(text) is not None:
        assert newer_fstring_line(text) == 0


_PROMPT = "import numpy as np\nfrom os import path\nLIMIT = 3\ndef task_func(x):"


@pytest.mark.parametrize("program", ["", "x = 1", "def f():\n    yield\n", "x = '\\d' is 1or 2\nassert (x, 'y')"])
def test_program_that_compiles_has_no_error(program: str) -> None:
    """Programs compile without a word, those that would warn included."""
    assert syntax_error(program) == ""


@pytest.mark.parametrize(
    ("program", "where"),
    [
        ("x = 1\ny = (", "line 2: "),
        ("x = 1\nreturn x", "line 2: "),
        ("def f(a, a): pass", "line 1: "),
        ("try: x\nexcept* E: y", "line"),
        ("x = 1\ny = '\0'", "line 2: NUL byte"),
        ("x = '\ud800'", "line 1: lone surrogate"),
        ("-" * 100_000 + "1", "nested too deeply"),
        ("x" + ".a" * 90_000, "too complex to parse: a dotted name"),
    ],
)
def test_error_says_what_and_where(program: str, where: str) -> None:
    """What does not compile, be it for the grammar or for the compiler, gets one line that names the place."""
    message = syntax_error(program)
    assert message.startswith(where)
    assert "\n" not in message


@settings(max_examples=examples(200))
@given(program=layouts | st.text(st.characters() | st.characters(categories=["Cs"])))
def test_any_text_gets_an_answer(program: str) -> None:
    """No text raises or warns."""
    assert isinstance(syntax_error(program), str)
    assert isinstance(placeholder(program, "task_func"), bool)
    assert isinstance(omitted_setup(program, _PROMPT, "task_func"), bool)
    assert isinstance(shortened(program, program[:9], "task_func"), bool)


@pytest.mark.parametrize(
    ("solution", "omits"),
    [
        ("def task_func(x):\n    return np.sum(x)", True),
        ("def task_func(x):\n    return x[:LIMIT]", True),
        ("import numpy as np\ndef task_func(x):\n    return np.sum(x)", False),
        ("def task_func(x):\n    import numpy as np\n    return np.sum(x)", False),
        ("def task_func(np):\n    return np.sum()", False),
        ("def task_func(x):\n    return x.np", False),
        ("from numpy import *\ndef task_func(x):\n    return path", False),
        ("def task_func(x):\n    return x", False),
        ("def task_func(x:\n    return np", False),
    ],
)
def test_omitted_setup_is_what_only_the_prompt_states(solution: str, omits: bool) -> None:  # noqa: FBT001
    """A name of the prompt counts where the solution reads it as a global and does not bind it."""
    assert omitted_setup(solution, _PROMPT, "task_func") is omits


@pytest.mark.parametrize(
    ("body", "is_placeholder"),
    [
        ("pass", True),
        ("...", True),
        ("'''Doc.'''", True),
        ("'''Doc.'''\n    raise NotImplementedError('later')", True),
        ("raise NotImplementedError", True),
        ("return None", True),
        ("return", True),
        ("# Your code here\n    return 0", True),
        ("# TODO: implement\n    pass", True),
        ("return 0", False),
        ("raise ValueError", False),
        ("x = 1\n    return None", False),
        ("# Your code here\n    return x + 1", False),
    ],
)
def test_placeholder_does_no_work(body: str, is_placeholder: bool) -> None:  # noqa: FBT001
    """A body without work is a placeholder; a constant is work unless a comment says that the code is still to come."""
    assert placeholder(f"def task_func(x):\n    {body}\n", "task_func") is is_placeholder


def test_last_definition_decides_and_a_missing_one_is_no_placeholder() -> None:
    """A stub that is replaced later is none; a solution without the entry point is not called one either."""
    assert not placeholder("def task_func(): pass\ndef task_func(): return 1", "task_func")
    assert placeholder("task_func = lambda x: None", "task_func")
    assert not placeholder("def other(): pass", "task_func")


_WHOLE = "import math\ndef task_func(x):\n    y = math.sqrt(x)\n    return y"


@pytest.mark.parametrize(
    ("answer", "solution", "is_short"),
    [
        (_WHOLE, _WHOLE, False),
        (f"Here:\n```python\n{_WHOLE}\n```\nIt prints 2: `print(task_func(4))`", _WHOLE, False),
        (f"{_WHOLE}<|endoftext|>", _WHOLE, False),
        (f"{_WHOLE}<|endoftext|>", _WHOLE.removesuffix("\n    return y"), True),
        (_WHOLE, _WHOLE.removeprefix("import math\n"), True),
        (f"{_WHOLE}\n\ntask_func(4)\nx = 5\n", _WHOLE, False),
        ("def task_func(\n    x,\n) -> int:\n    # None\n\n    return x", "def task_func(\n    x,\n) -> int:\n    return x", False),
        (f"{_WHOLE[:-10]}\n</think>\n{_WHOLE}", _WHOLE, False),
        (f"{_WHOLE}\n```\nShorter:\n```\n{_WHOLE[:-4]}", _WHOLE[:-12], True),
        ("No code.", "", False),
    ],
)  # fmt: skip
def test_a_solution_that_lacks_code_of_its_answer_is_marked(answer: str, solution: str, is_short: bool) -> None:  # noqa: FBT001
    """Lines of the function, and imports that it needs; not what only shows it, comments, or a draft before it."""
    assert shortened(answer, solution, "task_func") is is_short
