"""The parts of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.untrusted_text import storable
from bigcodeflow.sanitizing.answers import dedented, passages, readable, without_thinking


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        pytest.param("<think>a</think>b", "b", id="closed"),
        pytest.param("a</think>b", "b", id="unopened"),
        pytest.param("b<think>a", "b", id="unclosed"),
        pytest.param("<think>a<think>b</think>c</think>d", "d", id="nested"),
        pytest.param("<THINKING>a</THINKING>b<thought>c</thought>d", "bd", id="other names"),
        pytest.param("a < think > b", "a < think > b", id="no tag"),
    ],
)
def test_thinking_is_removed(text: str, spoken: str) -> None:
    """What stands between the tags goes, and so does what a lone tag opens or closes."""
    assert without_thinking(text) == spoken


def test_passages_are_what_lies_between_fences() -> None:
    """The text before a first fence, within fences and between them are passages, in order."""
    text = "before\n```python\na = 1\n```\nbetween\n~~~\nb = 2\n~~~"
    assert passages(text) == ["before", "a = 1", "between", "b = 2"]


def test_other_languages_are_no_passages() -> None:
    """What a fence declares as a shell session or as data is left out."""
    assert passages("```bash\npip install x\n```\n```json\n{}\n```\n```py\na = 1\n```") == ["a = 1"]


def test_unclosed_fence_reaches_to_the_end() -> None:
    """An answer that was cut off within a fence still gives that passage."""
    assert passages("```python\na = 1\nb =") == ["a = 1\nb ="]


def test_text_without_a_fence_has_no_passages() -> None:
    """No fence, no passages: the text is then looked at as a whole."""
    assert passages("a = `1`\n") == []


def test_indentation_of_a_list_is_removed() -> None:
    """A fence within a list item is indented, and its program is not."""
    assert passages("1. So:\n   ```python\n   if a:\n       b\n   ```")[1] == "if a:\n    b"
    assert dedented("a\n  b") == "a\n  b"


def test_readable_text_has_newlines_only() -> None:
    """Windows and old Mac line ends become newlines; NUL bytes and a byte order mark go."""
    assert readable("\ufeffa\r\nb\rc\0\n") == "a\nb\nc\n"


@given(text=st.text(st.characters() | st.characters(categories=["Cs"])))
def test_storable_text_changes_nothing_but_lone_surrogates(text: str) -> None:
    """Text that UTF-8 can hold is left as it is, any other is made such."""
    stored = storable(text)
    stored.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert "\ufffd" in stored or "\ud800" not in text
    else:
        assert stored == text
