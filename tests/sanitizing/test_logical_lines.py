"""Logical lines as Python's own tokenizer sees them."""

from bigcodeflow.sanitizing.grammar import logical_lines


def test_brackets_strings_and_backslashes_hold_lines_together() -> None:
    """A logical line ends where all that was opened is closed."""
    found = logical_lines(["f(", "  1)", "x = '''", "'''", "y = \\", "  1", "z"])
    assert [found[start].end if found[start] else None for start in (0, 2, 4, 6)] == [1, 3, 5, 6]


def test_line_that_never_completes_is_none() -> None:
    """Unclosed, foreign and mismatched brackets and unfinished strings make no logical line."""
    for line in ("f(", ")", "(]", "'abc", '"""', "x = \\", "a \\ b", "(" * 201 + ")" * 201):
        assert logical_lines([line]) == [None]


def test_reader_within_a_bracket_uses_what_later_readers_found() -> None:
    """A bracket that closes beyond other complete lines is found, and so is one that closes in a torn line."""
    found = logical_lines(["x = [", "  f(", "  )", '  """', '"""] + (', ")"])
    assert [line and line.end for line in found[:2]] == [5, 2]


def test_lines_without_code_have_no_last_character() -> None:
    """Blank lines and comments hold no code; a colon at the end opens a block, before a comment, too."""
    found = logical_lines(["", "  # c", "if x:  # why", "x[1:]"])
    assert [line.last if line else None for line in found] == ["", "", ":", "]"]


def test_indentation_is_measured_in_columns() -> None:
    """Tabs reach to the next multiple of eight and a form feed starts over, as in Python."""
    found = logical_lines(["\tx", "  \tx", "  \x0c x", "  \\", "x"])
    assert [line.column if line else None for line in found[:4]] == [8, 8, 1, 2]
