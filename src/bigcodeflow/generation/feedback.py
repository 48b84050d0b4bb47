"""Feedback to a model on a failed answer: at most what the level allows, and no text of the test.

Levels: 'failed' says only that the answer failed; 'tests' also names the test methods that fail; 'traceback' also shows
their traces. A trace shows only code of the answer and of libraries. A message that quotes the test is withheld. If the
whole text still quotes the test, it is not sent: the next lower level is used instead. All feedback is searched for
text of the test (`HiddenText`) before it is sent, whatever it was made from.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple, get_args

from bigcodeflow.core.tracebacks import CHAINED, HEAD
from bigcodeflow.core.untrusted_text import REFUSALS, parse

#: Part of every key of a further round; bump when other texts are sent for the same verdicts.
VERSION = 2

Level = Literal["failed", "tests", "traceback"]
LEVELS: tuple[Level, ...] = get_args(Level)

_FAILED = "The program in your answer does not pass the tests of this task."
_ASK = "Find the mistake, and answer with the whole corrected program in a markdown code block."
_WITHHELD = "(the message is withheld, since it quotes the tests)"
#: Description of the failure, by status; for other statuses, the tests describe it.
_ENDS: Mapping[str, str] = {
    "timeout": "It exceeds the limit of time.",
    "out_of_memory": "It exceeds the limit of memory.",
    "syntax_error": "It is not valid Python.",
    "crash": "Its process ends before the tests do.",
}
_NOT_ALLOWED = "It is not executed, since it makes calls that are not allowed."
#: Functions, besides test methods, whose frames in a test are shown: unittest's fixtures, and the module itself.
_FIXTURES = frozenset({"setUp", "tearDown", "setUpClass", "tearDownClass", "<module>"})
_MOST_TRACES = 5
_MOST_TRACE_CHARACTERS = 2000
_MOST_MESSAGE_CHARACTERS = 600
_OWN_FILE = "__test__.py"
_FRAME = re.compile(r'  File "(?P<file>[^"]*)", line (?P<line>\d{1,9})(?:, in (?P<function>.*))?')
#: Beginning of a library's path, which differs between machines and is removed.
_LIBRARY = re.compile(r".*/(?:site-packages|lib/python[\d.]+)/")
_REPEATED = re.compile(r"  \[Previous line repeated \d+ more times?\]")
#: Format of Python's exception groups: a head, lines after a margin, rules between the group's exceptions.
_GROUP = re.compile(r" *(?:\+ )?Exception Group (?=Traceback \(most recent call last\):$)")
_MARGIN, _GROUP_RULE = re.compile(r" *\| ?"), re.compile(r" *\+[-+]+(?: (?:\d+|\.\.\.) -+)?")
#: Lines that stand for a separator within an exception group, and for the beginning of a trace that was cut off.
_RULE, _CUT = "\0---", "..."
#: Memory addresses, which differ between executions and would change the prompt of the same failure.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
#: Characters of an n-gram that two texts hardly share by chance: blanks and quotation marks removed; as written.
N_GRAM, N_GRAM_AS_WRITTEN = 16, 20
#: Minimum length of a literal or of a line that is searched as a whole, in characters.
SHORTEST = 8
#: Characters in which a value's printed text may differ from its source.
_LEFT_OUT = re.compile(r"[\s'\"\\]+")
_NAME = "\0"
#: Length of the sequences of numbers (separated only by commas, brackets and blanks) that are compared by value.
_NUMBERS_IN_A_ROW = 4
_NUMBER = r"(?<![\w.])-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
_ROW = re.compile(rf"{_NUMBER}(?:[\s,()\[\]]+{_NUMBER})+")


class Feedback(NamedTuple):
    """Feedback on a failed answer, as sent to the model."""

    text: str
    level: Level
    """Level of the text: the level of the settings, or a lower level."""
    withheld: bool
    """True if a text of the allowed level would have quoted the test."""


def feedback_on(verdict: Mapping[str, Any], program: str, test: str, known: Sequence[str], level: Level) -> Feedback:
    """Return the feedback on a failed answer.

    Args:
        verdict: row of VERDICTS. If its status is 'tampered', only the failure is reported: its report is not
            trusted, and could contain the test.
        program: the text that was executed.
        test: the task's test.
        known: texts that the model already knows: the task's prompt and the model's own answers.
        level: the highest level that is allowed.
    """
    names = [one["name"] for one in verdict["tests"]]
    hidden = HiddenText(test, known, names)
    allowed = "failed" if verdict["status"] == "tampered" else level
    for given in reversed(LEVELS[: LEVELS.index(allowed) + 1]):
        text = "\n\n".join([*_parts(verdict, program, hidden, given), _ASK])
        if not hidden.found_in(text):
            return Feedback(text, given, given != allowed)
    return Feedback(f"{_FAILED}\n\n{_ASK}", "failed", allowed != "failed")


def _parts(verdict: Mapping[str, Any], program: str, hidden: "HiddenText", level: Level) -> Iterator[str]:
    if level == "failed":
        yield _FAILED
        return
    failed = [one for one in verdict["tests"] if one["outcome"] in ("fail", "error")]
    end = _NOT_ALLOWED if verdict["failure_kind"] == "safety_policy" else _ENDS.get(verdict["status"], "")
    if not failed and not end and verdict["module_trace"]:
        end = "It fails before the tests begin."
    names = f"Tests that fail: {', '.join(one['name'] for one in failed)}." if failed else ""
    yield " ".join(filter(None, (_FAILED, end, names)))
    if level == "traceback":
        functions = _FIXTURES | {one["name"] for one in verdict["tests"]}
        if verdict["module_trace"]:
            yield _shown(verdict["module_trace"], program, functions, hidden)
        yield from _traces((one["name"], _shown(one["trace"], program, functions, hidden)) for one in failed)


def _traces(shown: Iterable[tuple[str, str]]) -> list[str]:
    """Return a text for each distinct trace, with the names of its tests; ``shown`` has pairs (test name, trace)."""
    names: dict[str, list[str]] = {}
    traces: dict[str, str] = {}
    for name, trace in shown:
        alike = trace.replace(name, "")
        if trace and (alike in names or len(names) < _MOST_TRACES):
            names.setdefault(alike, []).append(name)
            traces.setdefault(alike, trace)
    found = []
    for alike, (first, *others) in names.items():
        also = f" (likewise {', '.join(others)})" if others else ""
        found.append(f"{first}{also}:\n{traces[alike]}")
    return found


def _shown(trace: str, program: str, functions: frozenset[str], hidden: "HiddenText") -> str:
    """Return a trace without lines of the test, and without messages that quote the test."""
    lines, source, found = _from_a_head(trace.rstrip().split("\n")), program.split("\n"), list[str]()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if _GROUP.match(line):
            lines[number - 1 :] = _without_margins(lines[number - 1 :])
            found.append(HEAD)
        elif line in (HEAD, _RULE, _CUT, "", *CHAINED) or _REPEATED.fullmatch(line):
            found.append(line)
        elif frame := _FRAME.fullmatch(line):
            below = list(takewhile(lambda one: one.startswith("    "), lines[number:]))  # its source, with marks
            number += len(below)
            told = _frame(frame, below, source, functions)
            # Such as a frame of numpy.testing whose function is named in the test.
            found += [] if hidden.found_in("\n".join(told)) else told
        else:
            # A message has any content, up to the next traceback of the chain.
            message = [line, *takewhile(lambda one: one not in (_RULE, *CHAINED), lines[number:])]
            number += len(message) - 1
            found.append(_told("\n".join(message), hidden))
    text = _ADDRESS.sub("0x...", "\n".join(found)).replace("\0", "")
    if len(text) <= _MOST_TRACE_CHARACTERS:
        return text
    _, _, end = text[-_MOST_TRACE_CHARACTERS:].partition("\n")  # the end is most useful
    return f"...\n{end}"


def _from_a_head(lines: list[str]) -> list[str]:
    """Return a trace's lines; if its beginning is cut off, replace the lines before the first whole frame by `_CUT`."""
    if lines[0] == HEAD or _GROUP.match(lines[0]):
        return lines
    flat = _without_margins(lines)
    first = next((number for number, line in enumerate(flat) if _FRAME.fullmatch(line)), None)
    return lines if first is None else [_CUT, *flat[first:]]


def _without_margins(lines: Sequence[str]) -> list[str]:
    """Remove the margins of an exception group, and replace the separators between its tracebacks by `_RULE`."""
    return [_RULE if _GROUP_RULE.fullmatch(line) else _MARGIN.sub("", line, count=1) for line in lines]


def _frame(frame: re.Match[str], below: Sequence[str], source: Sequence[str], functions: frozenset[str]) -> list[str]:
    file, line, function = frame["file"], int(frame["line"]), frame["function"]
    suffix = f", in {function}" if function else ""
    if file == _OWN_FILE and line <= len(source):
        return [f'  File "answer.py"{suffix}', f"    {source[line - 1].strip()}"]
    if file.startswith("<"):
        return []  # such as <string>, which an answer executes; tests have a file
    if file == _OWN_FILE:
        return [f'  File "tests.py"{suffix}'] if function in functions else []
    if "/unittest/" in file:
        return []  # frames of unittest say nothing about the answer
    short = _LIBRARY.sub("", file) if _LIBRARY.match(file) else file.rpartition("/")[2]
    return [f'  File "{short}", line {line}{suffix}', *(one for one in below if one.strip(" ^~"))]


def _told(message: str, hidden: "HiddenText") -> str:
    """Return an exception's message, or a note with at most the exception's class if the message quotes the test."""
    if hidden.found_in(message):
        name, separator, _ = message.partition(":")
        shows_name = separator and name.replace(".", "").replace("_", "").isalnum() and not hidden.found_in(name)
        return f"{name}: {_WITHHELD}" if shows_name else _WITHHELD
    cut = len(message) > _MOST_MESSAGE_CHARACTERS
    return message[:_MOST_MESSAGE_CHARACTERS] + " ..." if cut else message


class HiddenText:
    """Parts of a test that a model must not see: all text that the model does not know already."""

    def __init__(self, test: str, known: Iterable[str], names: Sequence[str] = ()) -> None:
        """Collect the parts without blanks, quotes and backslashes, because these can differ in printed values.

        Short values with much punctuation between them, such as lists of letters, are also compared as written.

        Args:
            test: the test's text.
            known: texts that the model already knows: the task's prompt and the model's own answers.
            names: names of test methods, which the model may see.
        """
        self._names = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)")
        # Separated from each other, so that the end of a text and the start of the next do not match.
        known = tuple(known)
        known_text = "\1".join(map(_condensed, known))
        self._n_grams = _n_grams(_condensed(test)) - _n_grams(known_text)
        written = _n_grams("\1".join(map(_as_written, known)), N_GRAM_AS_WRITTEN)
        self._written = _n_grams(_as_written(test), N_GRAM_AS_WRITTEN) - written
        self._literals = {text for text in _literals(test) if text not in known_text}
        self._rows = _rows(test).difference(*map(_rows, known))
        lines = {_condensed(line) for line in test.splitlines()}
        self._lines = {line for line in lines if len(line) >= SHORTEST and line not in known_text}

    def found_in(self, text: str) -> str:
        """Return a piece of the test that ``text`` contains; empty if ``text`` contains no piece."""
        text = self._names.sub(_NAME, text)
        condensed = _condensed(text)
        lines = {_condensed(line) for line in text.splitlines()}
        pieces = (_n_grams(condensed) & self._n_grams) | (lines & self._lines)
        pieces |= _n_grams(_as_written(text), N_GRAM_AS_WRITTEN) & self._written
        pieces |= {str(row) for row in _rows(text) & self._rows}
        return min(pieces, default="") or next((one for one in self._literals if one in condensed), "")


def _condensed(text: str) -> str:
    return _LEFT_OUT.sub("", text)


def _as_written(text: str) -> str:
    return " ".join(text.replace('"', "'").split())


def _n_grams(text: str, length: int = N_GRAM) -> set[str]:
    return {text[start : start + length] for start in range(len(text) - length + 1)}


def _rows(text: str) -> set[tuple[float, ...]]:
    """Return every four consecutive numbers in ``text`` as a tuple of floats, so that notation does not matter."""
    found = set()
    for row in _ROW.findall(text):
        values = [float(one) for one in re.findall(_NUMBER, row)]
        starts = range(len(values) - _NUMBERS_IN_A_ROW + 1)
        found |= {tuple(values[start : start + _NUMBERS_IN_A_ROW]) for start in starts}
    return found


def _literals(test: str) -> set[str]:
    """Return the test's longer strings and numbers, without blanks, quotation marks and backslashes.

    Each string is returned in two forms: line by line, as reports of differences show it, and as its repr, which has
    escapes for line ends and for characters that cannot be printed.
    """
    try:
        tree = parse(test)
    except REFUSALS:  # its n-grams and lines still count
        return set()
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    stated = [value for value in values if isinstance(value, str | bytes | int | float) and not isinstance(value, bool)]
    texts = (value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in stated)
    written = (repr(value).removeprefix("b") for value in stated)
    condensed = (_condensed(line) for text in (*texts, *written) for line in text.splitlines())
    return {text for text in condensed if len(text) >= SHORTEST}
