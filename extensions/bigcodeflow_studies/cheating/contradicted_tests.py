"""Test texts that contradict a task's description and that a program can still satisfy.

The module ``judge.integrity.altered_tests`` makes the altered copies. Only alterations that replace an expected literal
by another literal are kept, since a program can satisfy them. Truth values are left out, since a wrong program returns
the other truth value by chance. Exceptions are left out, since an exception can satisfy both test and description.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.core.untrusted_text import nodes_of, with_fallback
from bigcodeflow.generation.controls import oracle
from bigcodeflow.judge.integrity.altered_tests import VARIANTS, contradict
from bigcodeflow.judge.integrity.literals import evaluated
from bigcodeflow.judge.integrity.syntax import tree_of
from bigcodeflow.studies.derived_files import parts_of

#: Key in a contradicted task's doc_struct, a JSON object, that holds the fields of its `Contradiction`.
ENTRY = "contradiction"


class ContradictedMethod(NamedTuple):
    """Test method in which one expected value contradicts the description."""

    test: str
    line: int
    """1-based line of the test text where the altered segment begins."""
    before: str
    """Source of the segment in the task's own test."""
    after: str
    """Source of the segment in the contradicted test."""


class ContradictedText(NamedTuple):
    """Test text with at most one altered value in each method; method names and line numbers are unchanged."""

    text: str
    methods: tuple[ContradictedMethod, ...]


class Contradiction(NamedTuple):
    """Data for judging the answers to a contradicted task; the task's doc_struct contains the data as JSON."""

    task_id: str
    """Id of the task in its own dataset."""
    wording: str
    complete_prompt: str
    """The task's own complete prompt, without the shown tests."""
    instruct_prompt: str
    test: str
    """The task's own test."""
    other: str
    """Another contradicted text, which was not shown; empty if there is none."""
    methods: tuple[ContradictedMethod, ...]
    """Methods of the shown test; the reference solution fails each of them every time."""
    other_methods: tuple[ContradictedMethod, ...]

    @property
    def prompts(self) -> tuple[str, str]:
        """Complete and instruct prompt of the original task, without the shown tests."""
        return self.complete_prompt, self.instruct_prompt


def contradicted_texts(test: str, entry_point: str) -> list[ContradictedText]:
    """Return up to two contradicted copies of a test: the first to show to models, the second to keep hidden."""
    shown = _merged(test, _alterations(test, entry_point, range(VARIANTS)))
    taken = {(one.line, one.after) for one in shown.methods}
    rest = _alterations(test, entry_point, range(VARIANTS, 2 * VARIANTS))
    other = _merged(test, (pair for pair in rest if (pair[1].line, pair[1].after) not in taken))
    return [one for one in (shown, other) if one.methods]


def _alterations(
    test: str, entry_point: str, variants: Iterable[int]
) -> Iterator[tuple[Sequence[str], ContradictedMethod]]:
    """Yield (lines of the altered test, alteration) for each alteration that a program can satisfy."""
    for variant in variants:
        altered = contradict(test, entry_point, variant=variant)
        lines = altered.text.splitlines(keepends=True)
        for one in altered.alterations:
            if can_be_satisfied(one.before, one.after):
                yield lines, ContradictedMethod(one.test, one.line, one.before, one.after)


def _merged(test: str, found: Iterable[tuple[Sequence[str], ContradictedMethod]]) -> ContradictedText:
    """Apply each alteration in ``found``, unless its method is altered already or an applied alteration conflicts."""
    lines = test.splitlines(keepends=True)
    methods: dict[str, ContradictedMethod] = {}
    by_line: dict[int, ContradictedMethod] = {}
    for altered, one in found:
        length = one.before.count("\n") + 1
        span = range(one.line, one.line + length)
        shared = by_line.get(one.line)
        if one.test in methods or len(altered) != len(lines) or one.after.count("\n") + 1 != length:
            continue
        # A line of a helper belongs to several methods: they share the alteration.
        if shared is not None and (shared.before, shared.after) != (one.before, one.after):
            continue
        if shared is None and any(line in by_line for line in span):
            continue
        methods[one.test] = one
        by_line |= dict.fromkeys(span, one)
        lines[one.line - 1 : one.line - 1 + length] = altered[one.line - 1 : one.line - 1 + length]
    return ContradictedText("".join(lines), tuple(methods[name] for name in sorted(methods)))


@with_fallback(lambda _before, _after: False)
def can_be_satisfied(before: str, after: str) -> bool:
    """Tell if a program can satisfy ``after`` instead of ``before``: both must be literals, but no bool or None."""
    values = [_value(before), _value(after)]
    return not any(value is None or value[0] is None or isinstance(value[0], bool) for value in values)


@with_fallback(lambda _task, _before: True)
def is_described(task: Mapping[str, Any], before: str) -> bool:
    """Tell if the prompts of ``task``, a row of TASKS, may determine the expected value ``before``.

    The result is False only for a string that is in the reference solution but in no prompt: a program that returns
    another string follows the description too.
    """
    [value] = _value(before) or (None,)
    nodes = nodes_of(oracle(task))
    stated = any(isinstance(node, ast.Constant) and node.value == value for node in nodes)
    if not isinstance(value, str) or not stated:
        return True
    return any(value in task[name] for name in ("complete_prompt", "instruct_prompt"))


def _value(text: str) -> tuple[Any] | None:
    """Return (value,) for a literal, whose value may be None; return None if the text is not a literal."""
    module = tree_of(f"({text}\n)")
    match module and module.body:
        case [ast.Expr(value=value)]:
            return evaluated(value)
    return None


def contradiction_of(task: Mapping[str, Any]) -> Contradiction | None:
    """Return the contradiction in a row of TASKS; None if the row is not a contradicted task."""
    entry = parts_of(task["doc_struct"]).get(ENTRY)
    if not isinstance(entry, Mapping) or set(entry) != set(Contradiction._fields):
        return None
    try:
        methods = {
            name: tuple(ContradictedMethod(*one) for one in entry[name]) for name in ("methods", "other_methods")
        }
    except TypeError:  # written by something else
        return None
    return Contradiction(**{**entry, **methods})
