"""Python 3.10's grammar on every Python that runs the product."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow.sanitizing.grammar import newer_fstring_line, parse, parse_or_none
from tests.examples import examples

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
