"""Tables: no cell leaves its place, whatever a model wrote into it."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bigcodeflow.core.table import Cell, Column, Table, cell_text

HOSTILE = "\x1b[2J[red]<script>alert(1)</script>|`a`\n*b*"


def shown(table, width=80):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(table)
    return console.file.getvalue()


def test_one_table_in_two_forms():
    """Values, formats, alignment and tones come out in each."""
    columns = ("model", Column("score", "right", "{:.1%}".format), Column("n", "center"))
    table = Table.of(columns, [("a", Cell(0.5, "good"), 1140), ("b", None, [1, 2])], title="Scores", notes=["So far"])
    assert list(table.texts()) == [["a", "50.0%", "1,140"], ["b", "", "1, 2"]]
    assert table.to_markdown(level=2).splitlines() == [
        "## Scores", "", "> So far", "",
        "| model | score | n |", "| --- | --: | :-: |", "| a | 50.0% | 1,140 |", "| b |  | 1, 2 |",
    ]  # fmt: skip
    text = shown(table).splitlines()
    assert text[:2] == ["Scores", "So far"]
    assert re.search(r"│ a +│ +50\.0% │ +1,140 +│", text[5])


def test_records_and_tables_without_rows():
    """Keys are headings; a column that needs more than a heading is declared; nothing is nothing."""
    table = Table.of_records([{"run": "a", "tasks": 3}], columns=[Column("tasks", "right")])
    assert [column.align for column in table.columns] == ["left", "right"]
    assert Table.of_records([]).to_markdown() == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (float("nan"), ""), (True, "yes"), (1234, "1,234"), (0.123456, "0.1235"), (["a", 1], "a, 1")],
)
def test_values_in_words(value, text):
    assert cell_text(value) == text


@given(st.lists(st.text(), min_size=1))
def test_a_markdown_row_keeps_its_cells(cells):
    """No text can break out of its cell."""
    *_, line = Table.of(["x"] * len(cells), [cells]).to_markdown().split("\n")
    assert len(re.sub(r"\\.", "", line).split("|")) == len(cells) + 2
    assert "<" not in re.sub(r"\\.", "", line)


def test_hostile_texts_are_shown_and_obeyed_nowhere():
    """No control character and no markup, in title, heading, note and cell."""
    table = Table.of([HOSTILE], [[HOSTILE]], title=HOSTILE, notes=[HOSTILE])
    text = shown(table, 200)
    assert "\x1b" not in text
    assert text.count("\\x1b[2J[red]") == 4
    markdown = table.to_markdown()
    assert "\x1b" not in markdown
    assert "<script" not in re.sub(r"\\.", "", markdown)


def test_a_long_name_loses_its_middle_and_nothing_else_is_lost():
    """Names are cut in the middle where they may be; other texts are wrapped."""
    table = Table.of([Column("run", wrap="elide"), "text"], [["a" * 30 + "-end", "x" * 50]])
    text = shown(table, 40)
    assert re.search(r"a…\w*-end", text)
    assert text.count("x") == 50 + 1  # and the heading's


def words(text):
    return [word for word in re.split(r"[\s│┃┏┓┗┛┡┩├┤└┘─━┬┴┳┻╇┼]+", text) if word]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_word_is_cut(width):
    """Many columns of words that a narrow terminal has no room for: each word is whole, and each line fits."""
    headings = [
        "model",
        "environment",
        Column("samples", "right"),
        "failure kind",
        "library",
        "what is to be done about it",
    ]
    row = ["claude-sonnet · full", "bigcodebench", 1140, "assertion_failed", "scikit-learn", "nothing at all"]
    text = shown(Table.of(headings, [row, row], title="Runs"), width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("assertion_failed") == 2
    expected = " ".join(["Runs", *(one if isinstance(one, str) else one.heading for one in headings)])
    assert set(words(expected)) | set(" ".join(map(cell_text, row)).split()) == set(words(text))


def test_a_table_that_has_no_room_for_its_words_becomes_a_list():
    """Headings stand before values, rows are apart, empty cells are left out."""
    rows = [["first-name-of-all", "abcdefghijklmnop", ""], ["second", "z", "x"]]
    lines = [line.rstrip() for line in shown(Table.of(["run", "cause", "why"], rows), 36).splitlines()]
    assert lines == [
        "run    first-name-of-all", "cause  abcdefghijklmnop", "",
        "run    second", "cause  z", "why    x",
    ]  # fmt: skip
