"""What a program's calls give under its test: results of each call, and the lines that the test reaches.

A mutant that survives may give other results that no assertion looks at, or the same ones. A program is recorded by
text behind it, which replaces the function by one that prints a digest of every result and passes it on.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.core import untrusted_text

#: As the recorder has them: the beginning of its lines, and the most calls that it tells of.
_PREFIX, _MOST_CALLS = "@recorded-call@ ", 200
#: How much later the second execution of a reference begins, beyond a second that both may show.
_SECONDS_LATER = 1.1
#: Text of the recorder, which is executed behind a program.
_RECORDER = Path(__file__).with_name("recorder.py").read_text(encoding="utf-8")
_DRAWS = re.compile(r"\brandom\b|\brand(int|om|n)?\(|\b(choices?|shuffle|sample)\(")
_SEEDS = re.compile(r"seed\(|random_state|RandomState|default_rng|SystemRandom|\bsecrets\b")
#: What stands in a recorded text for a value that cannot be told.
_UNTOLD = "?"


class Recording(NamedTuple):
    """Of the calls of one execution, in their order."""

    digests: tuple[str, ...]
    texts: tuple[str, ...]
    lines: frozenset[int]
    """1-based lines of the program that ran, where they were traced."""
    is_loaded: bool
    """Whether the function was there to be called."""
    is_seeded: bool = False
    """Whether each call drew from generators with a fixed seed."""
    classes: tuple[tuple[str, ...], ...] = ()
    """Of each call the class of what it raised and those that this derives from; empty where it gave a result."""

    @property
    def is_whole(self) -> bool:
        """Whether every result could be told, and none was left out."""
        return 0 < len(self.digests) < _MOST_CALLS and not any(_UNTOLD in text for text in self.texts)


def recorded_program(program: str, entry_point: str, *, number: int = 0, trace: bool = False) -> str:
    """The program with its function replaced by one that records; equal programs differ by their ``number``."""
    line = _defined_at(program, entry_point)
    delay = _SECONDS_LATER if number else 0
    last = program.count("\n") + 1
    given = f"{line if trace else -line}, {last}, {delay}, seeded={draws_at_random(program)}"
    call = f"{entry_point} = _recorded_calls({entry_point}, {given})"
    return f"{program}\n{_RECORDER}\n{call}\n# execution {number}\n"


def draws_at_random(program: str) -> bool:
    """Whether a program draws from a shared generator and seeds none, so that its results differ each time."""
    return draws(program) and not _SEEDS.search(program)


def draws(text: str) -> bool:
    """Whether a text asks a generator for values."""
    return bool(_DRAWS.search(text))


def _defined_at(program: str, entry_point: str) -> int:
    """Line at which Python says that the function begins; 1 where it is not found."""
    with suppress(*untrusted_text.REFUSALS):
        for node in untrusted_text.parse(program).body:
            if isinstance(node, ast.FunctionDef) and node.name == entry_point:
                return min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return 1


def read_recording(stdout: str) -> Recording:
    """What an execution printed; lines that are no record are passed over."""
    digests, texts, classes, lines, is_loaded, is_seeded = [], [], [], set[int](), False, False
    for line in stdout.splitlines():
        _, marked, content = line.partition(_PREFIX)
        with suppress(ValueError, RecursionError):
            match json.loads(content) if marked else None:
                case [0, str() as mode, *_]:
                    is_loaded, is_seeded = True, mode == "seeded"
                case [-1, str(), str(), [int() as reached]]:
                    lines.add(reached)
                case [int(), str() as digest, str() as text, list() as raised]:
                    digests.append(digest)
                    texts.append(text)
                    classes.append(tuple(map(str, raised)))
    return Recording(tuple(digests), tuple(texts), frozenset(lines), is_loaded, is_seeded, tuple(classes))


class Effect(NamedTuple):
    """What a surviving mutant does under the test."""

    kind: str
    """'result differs', 'not executed', 'not called', 'no effect seen' or 'not comparable'."""
    text: str
    """Evidence, in words."""


RESULT_DIFFERS, NOT_EXECUTED, NOT_CALLED = "result differs", "not executed", "not called"
NO_EFFECT, NOT_COMPARABLE = "no effect seen", "not comparable"


def effect_of(statement: tuple[int, int], own: Sequence[Recording], mutant: Recording | None) -> Effect:
    """What a mutant of a statement changed, by two recordings of the reference (the first traced) and its own."""
    first, second = own
    if not first.is_loaded or not second.is_loaded:  # so too where more was printed than is kept
        return Effect(NOT_COMPARABLE, "the reference's calls could not be recorded from the first one on")
    if not first.digests and not second.digests:
        return Effect(NOT_CALLED, "the test never calls the function")
    if first.lines and not any(statement[0] <= line <= statement[1] for line in first.lines):
        return Effect(NOT_EXECUTED, "no test executes this line")
    if not first.digests or mutant is None or not mutant.is_loaded or not mutant.digests:
        return Effect(NOT_COMPARABLE, "results of the calls could not be recorded")
    if first.digests != second.digests:
        return Effect(NOT_COMPARABLE, "the reference itself gives other results each time")
    return _of_results(first, mutant)


def _of_results(own: Recording, mutant: Recording) -> Effect:
    """The first call that gives another result, if one does."""
    pairs = zip(own.digests, mutant.digests, own.texts, mutant.texts, strict=False)
    for number, (before, after, text, other) in enumerate(pairs, start=1):
        if _is_raised_alike(number - 1, own, mutant):
            continue
        if before != after and not (text.startswith(_UNTOLD) or other.startswith(_UNTOLD)):
            seeded = ", with a fixed seed," if own.is_seeded else ""
            return Effect(RESULT_DIFFERS, f"call {number} of the test{seeded} gives {_from_difference(other, text)}")
    if len(own.digests) != len(mutant.digests):
        return Effect(RESULT_DIFFERS, f"the test calls {len(mutant.digests)} times instead of {len(own.digests)}")
    whole = "" if own.is_whole else ", as far as they can be told"
    return Effect(NO_EFFECT, f"all {len(own.digests)} calls give the same results{whole}")


def _is_raised_alike(place: int, own: Recording, mutant: Recording) -> bool:
    """Whether a mutant's exception is of the reference's class or of one below it, which assertRaises takes for it."""
    classes, others = own.classes[place : place + 1], mutant.classes[place : place + 1]
    return any(mine and mine[0] in other for mine, other in zip(classes, others, strict=False))


def _from_difference(other: str, text: str, width: int = 60) -> str:
    """Both texts from shortly before the place where they differ."""
    places = (place for place, pair in enumerate(zip(other, text, strict=False)) if pair[0] != pair[1])
    same = next(places, min(len(other), len(text)))
    if other[same : same + 1] == text[same : same + 1]:  # both were cut before they differ
        return f"another result, which begins alike: {text[:width]}…"
    start = max(0, same - 15)
    dots = "…" if start else ""
    return f"{dots}{other[start : start + width]} instead of {dots}{text[start : start + width]}"


def recordings(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], Recording]:
    """By task_id and sample_index, of what passes: others, as with a fixed seed, end before their last call."""
    found = {}
    for row in rows:
        if row["status"] == "pass":
            found[row["task_id"], row["sample_index"]] = read_recording(row["stdout"])
    return found
