"""Edits of source text at the places of its syntax tree."""

import ast

import pytest

from bigcodeflow.core.source_text import Edit, SourceText, UnsafeError, edited


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_node_is_found_behind_any_letters_and_line_ends(line_end: str) -> None:
    """The parser counts lines by every line end, and columns in bytes of UTF-8."""
    source = SourceText(f"a = 'é😀'{line_end}b = 'ü' + c")
    [name] = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id == "c"]
    start, end = source.span(name)
    assert source.segment(name) == source.slice(start, end) == "c"
    assert source.line(start) == 2
    assert edited(source.text, [Edit(start, end, "ß")]) == source.text[:-1] + "ß"


def test_edits_are_made_in_any_order_and_do_not_overlap() -> None:
    """An edit that is given twice is made once."""
    edits = [Edit(4, 5, "z"), Edit(0, 1, "xy"), Edit(4, 5, "z")]
    assert edited("a + b", edits) == "xy + z"
    with pytest.raises(UnsafeError, match="two edits overlap at byte 3"):
        edited("a + b", [Edit(0, 4, ""), Edit(3, 5, "")])


@pytest.mark.parametrize(("after", "expected"), [("(c)", "x = (\n(c\n)\n)\ny"), ("c", "x = (\nc\n\n)\ny")])
def test_an_edit_can_keep_the_number_of_lines(after: str, expected: str) -> None:
    """Lines below keep their numbers, within brackets and outside."""
    source = SourceText("x = (\na +\nb\n)\ny")
    [sum_] = [node for node in ast.walk(source.tree) if isinstance(node, ast.BinOp)]
    assert edited(source.text, [source.keeping_lines(Edit(*source.span(sum_), after))]) == expected


def test_a_text_that_does_not_parse_is_refused() -> None:
    """Nothing is known about the places in it."""
    with pytest.raises(UnsafeError, match="it cannot be parsed"):
        SourceText("x = (").tree  # noqa: B018
