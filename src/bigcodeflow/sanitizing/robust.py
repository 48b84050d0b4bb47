"""A program out of an answer without what the original's method loses.

The original takes one unbroken stretch of the answer and of that only plain definitions. Here the answer is first
freed of thinking and split at its fences, the last passage that defines the entry point is the program, what it lacks
is looked for in the other passages, and every kind of statement that the entry point needs is kept.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from bigcodeflow.sanitizing.answers import dedented, passages, readable, without_thinking
from bigcodeflow.sanitizing.extraction import LineRange, longest_program_range
from bigcodeflow.sanitizing.laziness import is_placeholder
from bigcodeflow.sanitizing.parity import parity_solution
from bigcodeflow.sanitizing.selection import Selection
from bigcodeflow.sanitizing.statements import Statement, statements_of

_MAX_ROUNDS = 8


class _Passage(NamedTuple):
    statements: list[Statement]
    whole: bool  # the passage is a program as it stands

    def defines(self, entry_point: str) -> bool:
        return any(
            entry_point in item.binds and not item.is_import and not item.is_main_guard for item in self.statements
        )


def robust_solution(text: str, entry_point: str) -> str:
    """The program that an answer states for its entry point, or what parity makes of it where it states none."""
    try:
        solution = _once(readable(text), entry_point)
        for _ in range(_MAX_ROUNDS):  # sanitizing a solution again must not change it
            again = _once(solution, entry_point)
            if again == solution:
                break
            solution = again
        return solution
    finally:  # trees of long answers take hundreds of MiB
        _passage.cache_clear()
        _longest.cache_clear()


def _once(given: str, entry_point: str) -> str:
    text = dedented(given)
    spoken = dedented(without_thinking(text))
    for found in _attempts(text, spoken, entry_point):
        solution = _assembled(found, entry_point)
        if solution:
            return solution
    # The original strips the answer, which can make a program of what is none by its layout.
    fallbacks = [parity_solution(source, entry_point) for source in dict.fromkeys((spoken, text, given))]
    defining = [fallback for fallback in fallbacks if _passage(fallback).defines(entry_point)]
    return next((fallback for fallback in (*defining, *fallbacks) if fallback.strip()), "")


def _attempts(text: str, spoken: str, entry_point: str) -> Iterator[list[_Passage]]:
    """Ways to see an answer as passages, best first."""
    for whole in dict.fromkeys((text, spoken)):
        passage = _passage(whole)
        if passage.whole and passage.statements:
            yield [passage]
    fenced = _fenced(spoken)
    defining = [passage for passage in fenced if passage.defines(entry_point)]
    if any(passage.whole for passage in defining):
        yield fenced
    # A fence line within a docstring tears a program apart, and so does the token limit. The unbroken text, or a draft
    # among the thoughts, may then hold more of it.
    torn = [_fenced(text), _unfenced(text)] if defining else []
    yield from sorted((fenced, _unfenced(spoken), *torn), key=lambda found: -_definition_length(found, entry_point))
    yield from (_fenced(text), _unfenced(text))


def _definition_length(found: Sequence[_Passage], entry_point: str) -> int:
    binding = (item for passage in found for item in passage.statements if entry_point in item.binds)
    return max((len(item.text) for item in binding), default=0)


def _fenced(text: str) -> list[_Passage]:
    return [_passage(part) for part in passages(text)]


@cache  # one text is a passage in several ways to see an answer
def _passage(text: str) -> _Passage:
    statements = statements_of(text)
    if statements is not None:
        return _Passage(statements, whole=True)
    found = _longest(text) or LineRange(0, 0)
    lines = text.split("\n")[found.first : found.last + 1]
    return _Passage(statements_of("\n".join(lines)) or [], whole=False)


@cache
def _longest(text: str) -> LineRange | None:
    return longest_program_range(text)


def _unfenced(text: str) -> list[_Passage]:
    found = _longest(text)
    if found is None:
        return []
    lines = text.split("\n")
    parts = (lines[: found.first], lines[found.last + 1 :], lines[found.first : found.last + 1])
    return [_passage("\n".join(part)) for part in parts]


def _assembled(found: Sequence[_Passage], entry_point: str) -> str:
    """The program of the passage that defines the entry point, completed from the others; empty: none does."""
    defining = [number for number, passage in enumerate(found) if passage.defines(entry_point)]
    if not defining:
        return ""
    working = [number for number in defining if not is_placeholder(found[number].statements, entry_point)]
    whole = [number for number in working if found[number].whole]
    main = (whole or working or defining)[-1]
    selection = Selection(found[main].statements, frozenset({entry_point}))
    parts: list[Statement] = []
    missing = selection.unresolved()
    # The nearest passage before the program is asked first, those after it last.
    for other in [*reversed(found[:main]), *found[main + 1 :]]:
        supply = Selection(other.statements, frozenset(missing), all_imports=False)
        parts = supply.kept + parts
        missing -= {name for item in supply.kept for name in item.binds}
        missing |= supply.unresolved()
    ordered = sorted([*parts, *selection.kept], key=lambda item: not item.is_future)
    return "\n".join(item.text for item in ordered)
