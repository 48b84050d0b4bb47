"""What a model is told of a failed answer: what helps, at most what the level allows, and nothing of the test."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.generation.feedback import LEVELS, HiddenText, Level, feedback_on
from tests.conftest import ROOT

PROMPT = 'import math\n\ndef task_func(text):\n    """Count words. Raises ValueError where there are none."""\n'
PROGRAM = PROMPT + "    words = text.split()\n    return lenght(words)\n"
TEST = """import unittest

class TestCases(unittest.TestCase):
    def setUp(self):
        self.article = "Owls see well in the dark, and hear better"

    def test_counts_words(self):
        self.assertEqual(task_func(self.article), 9)

    def test_counts_by_letter(self):
        self.assertEqual(task_func("a bb"), {"letters": {"a": 1, "b": 2}, "words": ["a", "bb"]})
"""
LINES = len(PROGRAM.split("\n"))
NAMES = ("test_counts_words", "test_counts_by_letter")
HEAD = "Traceback (most recent call last):"


def trace_of(error: str, *frames: str) -> str:
    test_frame = f'  File "__test__.py", line {LINES + 7}, in test_counts_words'
    return "\n".join([HEAD, test_frame, *frames, error, ""])


def verdict_of(trace: str = "", *, status: str = "fail", module_trace: str = "", kind: str = "exception") -> dict:
    outcomes = ("error" if trace else "missing", "pass")
    tests = [
        {"name": name, "outcome": outcome, "trace": trace if outcome == "error" else ""}
        for name, outcome in zip(NAMES, outcomes, strict=True)
    ]
    return {"status": status, "failure_kind": kind, "module_trace": module_trace, "tests": tests}


def told(verdict: dict[str, Any], level: Level = "traceback") -> tuple[str, str]:
    feedback = feedback_on(verdict, PROGRAM, TEST, [PROMPT, PROGRAM], level)
    return feedback.text, feedback.level


NAME_ERROR = trace_of("NameError: name 'lenght' is not defined", '  File "__test__.py", line 6, in task_func')


def test_each_level_says_what_it_may_and_no_more() -> None:
    """Failed says that it failed, tests names methods, traceback shows the answer's own lines and the error."""
    failed, tests, traceback = (told(verdict_of(NAME_ERROR), level)[0] for level in LEVELS)
    assert "does not pass" in failed
    assert "test_counts" not in failed
    assert "Tests that fail: test_counts_words." in tests
    assert "NameError" not in tests
    assert "  File \"answer.py\", in task_func\n    return lenght(words)\nNameError: name 'lenght'" in traceback
    assert '  File "tests.py", in test_counts_words\n  File "answer.py"' in traceback


@pytest.mark.parametrize(
    "message",
    [
        "AssertionError: 'Owls see well in the dark, and hear better' != ''",
        "AssertionError: {'letters': {'a': 1, 'b': 2}, 'words': ['a', 'bb']} != {}",
        "ValueError: self.assertEqual(task_func(self.article), 9)",
        "ValueError: see\n    self.article = 'Owls see well in the dark'\n  and so on",
    ],
)
def test_a_message_that_quotes_the_test_is_withheld(message: str) -> None:
    """However a value is printed; the exception's name and the frames stay."""
    text, level = told(verdict_of(trace_of(message)))
    name = message.partition(":")[0]
    assert f"{name}: (the message is withheld, since it quotes the tests)" in text
    assert level == "traceback"
    assert "Owls" not in text
    assert "letters" not in text


def test_short_values_and_messages_of_libraries_stay() -> None:
    """A number that is expected says little, and a library's error says what the answer did wrong."""
    library = '  File "/home/me/venv/lib/python3.10/site-packages/pandas/core/frame.py", line 7, in sort\n    raise it\n    ^^^'
    text, _ = told(verdict_of(trace_of("KeyError: 'wordz' at 0x7f00aa11bb22", library)))
    assert "  File \"pandas/core/frame.py\", line 7, in sort\n    raise it\nKeyError: 'wordz' at 0x..." in text
    assert "AssertionError: 8 != 9" in told(verdict_of(trace_of("AssertionError: 8 != 9")))[0]


def test_tests_that_fail_alike_share_a_trace() -> None:
    """Ten times the same line says no more than once."""
    verdict = verdict_of(NAME_ERROR)
    trace = NAME_ERROR.replace("test_counts_words", "test_counts_by_letter")
    verdict["tests"][1] |= {"outcome": "error", "trace": trace}
    text, _ = told(verdict)
    assert "test_counts_words (likewise test_counts_by_letter):\nTraceback" in text
    assert text.count("NameError") == 1


def test_frames_of_the_tests_own_helpers_and_of_unittest_are_left_out() -> None:
    """A helper's name is the test's text, and how an assertion is made says nothing of the answer."""
    helper = f'  File "__test__.py", line {LINES + 9}, in expected_letters'
    case = '  File "/usr/lib/python3.10/unittest/case.py", line 873, in assertEqual\n    assertion_func(first, second)'
    text, _ = told(verdict_of(trace_of("AssertionError: 1 != 2", helper, case)))
    assert "expected_letters" not in text
    assert "assertion_func" not in text


def test_code_that_an_answer_executes_is_none_of_the_test() -> None:
    """Frames of exec and eval have no file; the test's own, while it is imported, have."""
    frames = ['  File "__test__.py", line 6, in task_func', '  File "<string>", line 1, in <module>']
    text, _ = told(verdict_of(trace_of("ZeroDivisionError: division by zero", *frames)))
    assert '  File "answer.py", in task_func\n    return lenght(words)\nZeroDivisionError: division' in text
    imported = "\n".join([HEAD, f'  File "__test__.py", line {LINES + 3}, in <module>', "NameError: x"])
    assert '  File "tests.py", in <module>' in told(verdict_of(module_trace=imported))[0]


def test_a_librarys_frame_that_quotes_the_test_is_left_out() -> None:
    """Such as a function that the test calls by its name; the others stay."""
    frames = [
        f'  File "/x/lib/python3.10/site-packages/a.py", line 1, in f\n    {TEST.splitlines()[4].strip()}',
        '  File "/x/lib/python3.10/site-packages/b.py", line 2, in g\n    return f()',
    ]
    text, level = told(verdict_of(trace_of("KeyError: 1", *frames)))
    assert '  File "b.py", line 2, in g\n    return f()\nKeyError: 1' in text
    assert "a.py" not in text
    assert level == "traceback"


def test_what_would_quote_the_test_all_the_same_falls_back_to_a_lower_level() -> None:
    """Even the words of this feedback, where a test has them: the level of what is sent is told."""
    test = f"{TEST}# It exceeds the limit of time.\n"
    feedback = feedback_on(verdict_of(status="timeout"), PROGRAM, test, [PROMPT], "traceback")
    assert (feedback.level, feedback.withheld) == ("failed", True)
    assert "exceeds" not in feedback.text


def test_ends_without_a_report_are_told_in_words_and_tampering_in_none() -> None:
    """A program that was caught could carry the test in its report: it is told the failure alone."""
    assert "It exceeds the limit of time." in told(verdict_of(status="timeout", kind="timeout"))[0]
    assert "It exceeds the limit of time." not in told(verdict_of(status="timeout", kind="timeout"), "failed")[0]
    assert "calls that are not allowed" in told(verdict_of(kind="safety_policy"))[0]
    syntax = "  File \"__test__.py\", line 5\n    words = text.split(\n                      ^\nSyntaxError: '(' was never closed\n"
    text, _ = told(verdict_of(status="syntax_error", module_trace=syntax))
    assert "It is not valid Python." in text
    assert "SyntaxError: '(' was never closed" in text
    assert told(verdict_of(NAME_ERROR, status="tampered"))[1] == "failed"


@given(
    start=st.integers(0, len(TEST) - 40),
    length=st.integers(24, 120),
    before=st.text(max_size=30),
    quoting=st.sampled_from(["'", '"', ""]),
)
def test_no_long_piece_of_the_test_is_ever_told(start: int, length: int, before: str, quoting: str) -> None:
    """Wherever a program puts it into its message, in whatever quotation marks."""
    piece = TEST[start : start + length]
    message = before + piece.replace('"', quoting or '"')
    text, _ = told(verdict_of(trace_of(f"ValueError: {message}"), module_trace=message))
    known = "".join((PROMPT + PROGRAM).split())
    condensed = "".join(text.split()).replace('"', "").replace("'", "")
    for name in NAMES:
        condensed = condensed.replace(name, "")
    wanted = "".join(TEST.split()).replace('"', "").replace("'", "")
    windows = {wanted[at : at + 20] for at in range(len(wanted) - 19)}
    assert not [one for one in windows if one in condensed and one not in known and not any(n in one for n in NAMES)]


def test_what_the_model_knows_already_is_no_secret() -> None:
    """A line of the test that the prompt or the answer holds may be quoted."""
    line = "self.assertEqual(task_func(self.article), 9)"
    assert HiddenText(TEST, [], NAMES).found_in(line)
    assert not HiddenText(TEST, [f"Example: {line}"], NAMES).found_in(line)
    assert not HiddenText(TEST, [], NAMES).found_in("test_counts_by_letter, test_counts_words")


def test_a_trace_whose_beginning_is_cut_off_is_told_like_any_other() -> None:
    """Its frames are none of the exception's message: no path, no line of the test, and the exception is named."""
    library = '  File "/opt/env/lib/python3.10/copy.py", line 146, in deepcopy\n    y = copier(x, memo)'
    own = f'  File "__test__.py", line 6, in task_func\n{library}\n  [Previous line repeated 9 more times]\n{library}'
    test = f'  File "__test__.py", line {LINES + 7}, in test_counts_words\n    check(1)'
    text, level = told(
        verdict_of("\n".join(["deepcopy", "    d = id(x)", test, *[own] * 40, "RecursionError: too deep"]))
    )
    assert level == "traceback"
    assert "\nRecursionError: too deep\n" in text
    assert 'File "copy.py", line 146, in deepcopy' in text
    assert [word for word in ("/opt/", "__test__", "check(1)") if word in text] == []


def test_a_group_of_exceptions_is_told_without_lines_of_the_test() -> None:
    """Frames behind the margins of a group are frames as elsewhere, in groups within groups too."""
    group = f"""  + Exception Group Traceback (most recent call last):
  |   File "__test__.py", line {LINES + 7}, in test_counts_words
  |     check(1)
  |   File "/opt/env/lib/python3.13/asyncio/taskgroups.py", line 71, in __aexit__
  |     return await self._aexit(et, exc)
  | ExceptionGroup: unhandled (1 sub-exception)
  +-+---------------- 1 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "__test__.py", line 6, in task_func
    |     return lenght(words)
    | ExceptionGroup: inner (1 sub-exception)
    +-+---------------- 1 ----------------
      | ValueError: 3
      +------------------------------------
"""
    text, level = told(verdict_of(group))
    assert level == "traceback"
    assert 'File "tests.py", in test_counts_words\n  File "asyncio/taskgroups.py", line 71' in text
    assert "ExceptionGroup: inner (1 sub-exception)\n---\nValueError: 3" in text
    assert [word for word in ("/opt/", "__test__", "check(1)", " | ") if word in text] == []


@pytest.mark.parametrize(
    ("stated", "printed"),
    [
        (r"'ab,cd\nef,gh'", r"['x'] != ['ab,cd\nef,gh']"),
        (r"b'\x89PNG\r\n'", r"'x' != b'\x89PNG\r\n'"),
        ("np.array([1.0, 2.0, 3.0, -4.50])", " DESIRED: array([ 1. ,  2. ,  3. , -4.5])"),
        ("[0.10, 0.20,\n 0.30, 0.40]", "[0] != [0.1, 0.2, 0.3, 0.4]"),
    ],
)
def test_what_is_printed_in_another_notation_than_it_is_stated_in_is_found(stated: str, printed: str) -> None:
    """Escapes of a text, and zeros and blanks of numbers in a row, make no other value; who knows it may be told."""
    test = f"class TestCases(TestCase):\n    def test_1(self):\n        check({stated})\n"
    assert HiddenText(test, [""]).found_in(f"AssertionError: {printed}")
    assert not HiddenText(test, [f"e.g. {printed}"]).found_in(f"AssertionError: {printed}")
    assert not HiddenText(test, [""]).found_in("AssertionError: [1, 2, 3] != [1.0, 2.0]")


@pytest.mark.parametrize(
    ("statement", "message", "short", "long"),
    [
        ("check(f(), {})", "AssertionError: [3, 1] != {}", "[1, 2, 3]", "[1, 2, 3, 4]"),
        ("check(f(), {})", "AssertionError: 'ab' != {}", "'abc'", "'abcdefgh'"),
        ("check(f(), {})", "AssertionError: [] != {}", "['a', 1, 'b', 2]", "['a', 1, 'b', 2, 'c', 3]"),
        ("check(f(), 2, '{}')", "AssertionError: 1 != 2 : {}", "no file", "not a file"),
        ("check(f()['{}'])", "KeyError: '{}'", "total", "total_sum"),
        (
            "check(f().{}())",
            "AttributeError: 'list' object has no attribute '{}'",
            "get_xticks",
            "get_xticks_and_labels",
        ),
    ],
)
def test_short_values_are_told_as_the_documentation_says(statement: str, message: str, short: str, long: str) -> None:
    """One of each kind that is told, and a longer one that is withheld."""
    test = "class TestCases(TestCase):\n    def test_1(self):\n        {}\n"
    assert not HiddenText(test.format(statement.format(short)), [""]).found_in(message.format(short))
    assert HiddenText(test.format(statement.format(long)), [""]).found_in(message.format(long))
    assert f"`{message.format(short)}`" in (ROOT / "docs" / "rounds.md").read_text()
