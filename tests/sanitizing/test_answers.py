"""The parts of an answer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.untrusted_text import storable
from bigcodeflow.sanitizing.passages import fenced_texts, without_thinking
from bigcodeflow.sanitizing.robust import robust_solution


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        pytest.param("<think>a</think>b", "b", id="closed"),
        pytest.param("a</think>b", "b", id="unopened"),
        pytest.param("b<think>a", "b", id="unclosed"),
        pytest.param("<think>a<think>b</think>c</think>d", "d", id="nested"),
        pytest.param("<think>a<think>b</think>c", "", id="nested and unclosed"),
        pytest.param("<THINKING>a</THINKING>b<thought>c</thought>d", "bd", id="other names"),
        pytest.param("a < think > b", "a < think > b", id="no tag"),
        pytest.param("[THINK]a[/THINK]b", "b", id="brackets"),
        pytest.param("It's `<think>`. It's so.</think>b", "b", id="inline code and apostrophes"),
        pytest.param(
            "<|channel|>analysis<|message|>a<|end|><|channel|>analysis<|message|>a<|channel|>final<|message|>b",
            "b",
            id="channels",
        ),
        pytest.param("analysisSo.assistantfinalb", "b", id="channels without their marks"),
    ],
)
def test_thinking_is_removed(text: str, spoken: str) -> None:
    """What stands between the tags goes, and so does what a lone tag opens or closes."""
    assert without_thinking(text) == spoken


@pytest.mark.parametrize(
    "program",
    [
        'return re.sub(r"<think>.*?</think>", "", s)',
        "return '<think>' + s",
        'x = """\n</think>\n"""',
        "s = 1  # without <thought>",
        "return f'[THINK]{s}'",
        "parts = s.split('<|channel|>final<|message|>')",
    ],
)
def test_tags_of_a_program_are_its_own(program: str) -> None:
    """A tag in a string or a comment is neither a thought's beginning nor its end, fenced or not."""
    answer = f"It's so:\n```python\n{program}\n```\n{program}\n"
    assert without_thinking(answer) == answer
    assert without_thinking(f"<think>It's\n```python\n{program}\n```\n</think>{answer}") == answer


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        pytest.param(
            "before\n```python\na = 1\n```\nbetween\n~~~\nb = 2\n~~~",
            ["before", "a = 1", "between", "b = 2"],
            id="around and within fences",
        ),
        pytest.param(
            "```bash\npip install x\n```\n```json\n{}\n```\n```py\na = 1\n```", ["a = 1"], id="other languages"
        ),
        pytest.param("```python\na = 1\nb =", ["a = 1\nb ="], id="cut off within a fence"),
        pytest.param("a = `1`\n", [], id="no fence"),
        pytest.param(
            "1. So:\n   ```python\n   if a:\n       b\n   ```", ["1. So:", "if a:\n    b"], id="within a list"
        ),
        pytest.param("```\na\n  b\n```", ["a\n  b"], id="first line not indented"),
    ],
)
def test_fenced_texts(text: str, passages: list[str]) -> None:
    """The texts between fence lines, in order, without common indentation and without those of other languages."""
    assert fenced_texts(text) == passages


def test_line_ends_become_newlines() -> None:
    """Windows and old Mac line ends become newlines; NUL bytes and a byte order mark go."""
    answer = "\ufeffa = 1\r\nb = a\rdef f():\r\n  return \0b"
    assert robust_solution(answer, "f") == "a = 1\nb = a\ndef f():\n  return b"


@given(text=st.text(st.characters() | st.characters(categories=["Cs"])))
def test_storable_text_changes_nothing_but_lone_surrogates(text: str) -> None:
    """Text that UTF-8 can hold is left as it is, any other is made such."""
    stored = storable(text)
    assert isinstance(stored.encode(), bytes)
    assert stored == text or re.search("[\ud800-\udfff]", text)
