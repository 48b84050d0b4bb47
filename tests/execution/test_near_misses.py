"""Near misses of literals: another value, the same type and look, further apart than any tolerance."""

import ast
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow.judge.integrity.altered_tests import VARIANTS, contradict
from bigcodeflow.judge.integrity.literals import Tolerance, evaluated, far_miss, leaves, near_miss
from tests.doubles.written_tests import suite
from tests.examples import examples


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


LITERALS = st.recursive(
    st.one_of(
        st.integers(-(10**12), 10**12),
        st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12),
        st.text(max_size=12),
        st.binary(max_size=8),
        st.booleans(),
        st.none(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@given(value=LITERALS, seed=st.integers(0, 1000))
@settings(max_examples=examples(300), deadline=None)
def test_an_expected_literal_becomes_another_of_its_type(value: object, seed: int) -> None:
    """The altered text parses, expects another value, and has the same type in the place of the old."""
    body = f"self.assertEqual(task_func(), {value!r})"
    found = contradict(suite(body), "task_func", variant=seed % VARIANTS)
    call = ast.parse(found.text).body[1].body[0].body[0].value  # type: ignore[attr-defined]
    (after,) = evaluated(call.args[1]) or (value,)
    assert after != value
    assert type(after) is type(value) or value is None


@given(
    value=st.integers(-(10**12), 10**12) | st.floats(-1e12, 1e12).map(lambda one: round(one, 6)),
    tolerance=st.builds(Tolerance, st.sampled_from([0.0, 1e-6, 0.5, 40.0]), st.sampled_from([0.0, 1e-7, 0.3])),
    seed=st.integers(0, 1000),
)
@settings(max_examples=examples(200), deadline=None)
def test_near_misses_of_numbers_leave_the_tolerance(value: float, tolerance: Tolerance, seed: int) -> None:
    """A number that counts as equal to one is never equal to the other as well; far ones are out of every reach."""
    node, segment = expression(repr(value)), repr(value)
    near = ast.literal_eval(near_miss(node, segment, random.Random(seed), tolerance) or segment)
    assert near != value
    assert abs(near - value) >= 2.9 * tolerance.around(value)
    assert (near >= 0) == (value >= 0)
    assert abs(ast.literal_eval(far_miss(node, segment, random.Random(seed)) or segment) - value) >= 10**8 - 1


@given(
    value=st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=400), max_size=10), seed=st.integers(0, 1000)
)
@settings(max_examples=examples(200), deadline=None)
def test_near_misses_of_strings_differ_in_more_than_case_and_spaces(value: str, seed: int) -> None:
    """An honest class may ignore case or spaces; a comparison that does tells the two apart as well."""
    segment = repr(value)
    text = near_miss(expression(segment), segment, random.Random(seed))
    after = ast.literal_eval(text or segment)
    assert "".join(after.split()).casefold() != "".join(value.split()).casefold()
    differing = sum(one != other for one, other in zip(after, value, strict=False))
    is_longer = len(after) == len(value) + 6
    assert is_longer or differing == 1 or (differing == 2 and sorted(after) == sorted(value))
    far = ast.literal_eval(far_miss(expression(segment), segment, random.Random(seed)) or segment)
    assert len(far) == len(value) + 6


def test_near_misses_of_strings_are_of_several_kinds() -> None:
    """Who compares letters without their order passes a false method, as who compares with rounded numbers does."""
    found = {
        ast.literal_eval(near_miss(expression("'ab cd'"), "'ab cd'", random.Random(seed)) or "") for seed in range(80)
    }
    assert {one for one in found if sorted(one) == sorted("ab cd")} >= {"ba cd", "ab dc"}
    assert {one for one in found if set(one) - set("abcd ")}
    numbers = {near_miss(expression("400"), "400", random.Random(seed)) for seed in range(80)}
    assert numbers >= {"300", "500", "375", "401"}


@given(
    values=st.lists(st.one_of(st.integers(0, 50), st.sampled_from(["a", "bc", "Red"])), min_size=1, max_size=6),
    seed=st.integers(0, 2),
)
@settings(max_examples=examples(100), deadline=None)
def test_allowed_values_become_others_without_exception(values: list[object], seed: int) -> None:
    """No value that was allowed stays allowed: one near miss would leave the honest results in."""
    body = f"result = task_func()\nself.assertIn(result, {values!r})"
    ((_, _, _, _, after),) = contradict(suite(body), "task_func", variant=seed).alterations
    assert not set(map(repr, ast.literal_eval(after))) & set(map(repr, values))


def test_only_literals_are_leaves() -> None:
    """Names, options and arguments of unknown functions stay."""
    found = leaves(expression("pd.DataFrame({'a': [1, x]}, dtype='int8') if y else f(3)"))
    assert [ast.unparse(one) for one in found] == []
    found = leaves(expression("pd.DataFrame({'a': [1, x]}, dtype='int8')"))
    assert [ast.unparse(one) for one in found] == ["'a'", "1"]
