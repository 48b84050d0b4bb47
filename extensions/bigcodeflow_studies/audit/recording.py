"""Record a program's calls under its test: the result of each call, and the lines that the test reaches.

A surviving mutant returns the same results, or other results that no assertion checks. To record a program, a text is
appended that wraps the function: the wrapper prints a digest of every result and returns the result.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os.path import commonprefix
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.core import untrusted_text

#: Same values as in the recorder: the prefix of its lines, and the maximum number of calls that it prints.
_PREFIX, _MOST_CALLS = "@recorded-call@ ", 200
#: Delay of the second execution of a reference: more than a second, so that results with the time differ.
_SECONDS_LATER = 1.1
#: Text of the recorder, which is appended to a program.
_RECORDER = Path(__file__).with_name("recorder.py").read_text(encoding="utf-8")
_DRAWS = re.compile(r"\brandom\b|\brand(int|om|n)?\(|\b(choices?|shuffle|sample)\(")
_SEEDS = re.compile(r"seed\(|random_state|RandomState|default_rng|SystemRandom|\bsecrets\b")
#: Mark in a recorded text for a value that cannot be represented.
_UNTOLD = "?"


class Call(NamedTuple):
    """Recorded call of the function: digest and text of its result or exception."""

    digest: str
    text: str
    classes: tuple[str, ...] = ()
    """Class of the raised exception and its base classes; empty if the call returned."""


class Recording(NamedTuple):
    """Recorded calls of one execution, in order."""

    calls: tuple[Call, ...]
    lines: frozenset[int]
    """1-based lines of the program that were executed; empty without tracing."""
    is_loaded: bool
    """True if the function was defined and could be called."""
    is_seeded: bool = False
    """True if each call drew from generators with a fixed seed."""

    @property
    def digests(self) -> list[str]:
        """Digests of the calls' results, in the order of the calls."""
        return [call.digest for call in self.calls]


def recorded_program(program: str, entry_point: str, *, number: int = 0, trace: bool = False) -> str:
    """Return the program with its function wrapped by the recorder; ``trace`` also records the lines that are executed.

    Each ``number`` gives a different text, so that the text is executed instead of reusing an earlier verdict. If
    ``number`` is above 0, the calls begin 1.1 s later, so that results that contain the time differ.
    """
    line = _defined_at(program, entry_point)
    delay = _SECONDS_LATER if number else 0
    last = program.count("\n") + 1
    seeded = draws(program) and not _SEEDS.search(program)  # else results would differ each time
    given = f"{line if trace else -line}, {last}, {delay}, seeded={seeded}"
    call = f"{entry_point} = _recorded_calls({entry_point}, {given})"
    return f"{program}\n{_RECORDER}\n{call}\n# execution {number}\n"


def draws(text: str) -> bool:
    """Tell if a program's text seems to draw random values, by names such as random, randint( or shuffle(."""
    return bool(_DRAWS.search(text))


def _defined_at(program: str, entry_point: str) -> int:
    """Return the 1-based line at which the function begins, decorators included; 1 if there is no such function."""
    with suppress(*untrusted_text.REFUSALS):
        for node in untrusted_text.parse(program).body:
            if isinstance(node, ast.FunctionDef) and node.name == entry_point:
                return min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return 1


def read_recording(stdout: str) -> Recording:
    """Read the recording from the output of an execution; skip lines that are not records."""
    calls, lines, is_loaded, is_seeded = [], set[int](), False, False
    for line in stdout.splitlines():
        _, marked, content = line.partition(_PREFIX)
        with suppress(ValueError, RecursionError):
            match json.loads(content) if marked else None:
                case [0, str() as mode, *_]:
                    is_loaded, is_seeded = True, mode == "seeded"
                case [-1, str(), str(), [int() as reached]]:
                    lines.add(reached)
                case [int(), str() as digest, str() as text, list() as raised]:
                    calls.append(Call(digest, text, tuple(map(str, raised))))
    return Recording(tuple(calls), frozenset(lines), is_loaded, is_seeded)


class Effect(NamedTuple):
    """Difference that a surviving mutant makes when the test runs: a kind, with evidence."""

    kind: str
    """'result differs', 'not executed', 'not called', 'no effect seen' or 'not comparable'."""
    text: str
    """Evidence, in words."""


RESULT_DIFFERS, NOT_EXECUTED, NOT_CALLED = "result differs", "not executed", "not called"
NO_EFFECT, NOT_COMPARABLE = "no effect seen", "not comparable"


def effect_of(statement: tuple[int, int], own: Sequence[Recording], mutant: Recording | None) -> Effect:
    """Compare a mutant's recording with ``own``, two recordings of the reference solution, and return the effect.

    The first recording in ``own`` also holds the executed lines. ``statement`` is the first and last line of the
    changed statement. ``mutant`` is None if the recorded execution of the mutant failed.
    """
    first, second = own
    if not first.is_loaded or not second.is_loaded:  # also if more was printed than is kept
        return Effect(NOT_COMPARABLE, "the reference's calls could not be recorded from the first one on")
    if not first.calls and not second.calls:
        return Effect(NOT_CALLED, "the test never calls the function")
    if first.lines and not any(statement[0] <= line <= statement[1] for line in first.lines):
        return Effect(NOT_EXECUTED, "no test executes this line")
    if not first.calls or mutant is None or not mutant.is_loaded or not mutant.calls:
        return Effect(NOT_COMPARABLE, "results of the calls could not be recorded")
    if first.digests != second.digests:
        return Effect(NOT_COMPARABLE, "the reference itself gives other results each time")
    return _of_results(first, mutant)


def _of_results(own: Recording, mutant: Recording) -> Effect:
    """Compare the results of ``own`` and ``mutant`` call by call; return the first difference, or NO_EFFECT."""
    for number, (before, after) in enumerate(zip(own.calls, mutant.calls, strict=False), start=1):
        # assertRaises accepts subclasses of the reference's exception.
        is_raised_alike = any(one in after.classes for one in before.classes[:1])
        is_told = not (before.text.startswith(_UNTOLD) or after.text.startswith(_UNTOLD))
        if before.digest != after.digest and is_told and not is_raised_alike:
            which = f"call {number} of the test{', with a fixed seed,' if own.is_seeded else ''}"
            return Effect(RESULT_DIFFERS, f"{which} gives {_from_difference(after.text, before.text)}")
    if len(own.calls) != len(mutant.calls):
        return Effect(RESULT_DIFFERS, f"the test calls {len(mutant.calls)} times instead of {len(own.calls)}")
    is_whole = len(own.calls) < _MOST_CALLS and not any(_UNTOLD in call.text for call in own.calls)
    limits = "" if is_whole else ", as far as they can be told"
    return Effect(NO_EFFECT, f"all {len(own.calls)} calls give the same results{limits}")


def _from_difference(other: str, text: str, width: int = 60) -> str:
    """Return 'A instead of B', with A cut from ``other`` and B from ``text``, near their first difference."""
    same = len(commonprefix([other, text]))  # noqa: RUF071 -- of characters
    if other[same : same + 1] == text[same : same + 1]:  # both were cut before they differ
        return f"another result, which begins alike: {text[:width]}…"
    start = max(0, same - 15)
    dots = "…" if start else ""
    return f"{dots}{other[start : start + width]} instead of {dots}{text[start : start + width]}"


def recordings(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], Recording]:
    """Return recordings by (task_id, sample_index); skip failed executions, whose recordings may be incomplete."""
    return {
        (row["task_id"], row["sample_index"]): read_recording(row["stdout"]) for row in rows if row["status"] == "pass"
    }
