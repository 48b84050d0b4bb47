"""Comparisons of results in the tests of converted benchmarks: EvalPlus's tolerances, LiveCodeBench's printed texts."""

import math

import pytest

from bigcodeflow_benchmarks import case_checks
from bigcodeflow_benchmarks.plain_data import literal

CHECKS = case_checks.CaseChecks()


@pytest.mark.parametrize(
    ("found", "expected", "is_accepted"),
    [
        (2.0, 2, True),
        (1.0000001, 1.0, True),
        (1.00001, 1.0, False),
        ([1.0, 2.0000001], [1.0, 2.0], True),
        ((1.0, 2.0000001), [1.0, 2.0], False),
        ([1.0], [1.0, 2.0], False),
        ([1, 2.0000001], [1, 2.0], False),
        (math.inf, math.inf, True),
        (1e308, math.inf, False),
        (math.nan, math.nan, False),
        ("ab", "ab", True),
    ],
)
def test_floats_have_a_tolerance(found, expected, is_accepted):
    """A float, or a list of floats only, may differ slightly from one of its type; anything else has to be equal."""
    given = ([found], [expected], [["x"]])
    if is_accepted:
        CHECKS.assert_allclose(*given, rtol=1e-07, atol=1e-06, floats_only=True)
        return
    with pytest.raises(AssertionError, match=r"\['x'\] gives .*, not "):
        CHECKS.assert_allclose(*given, rtol=1e-07, atol=1e-06, floats_only=True)
    with pytest.raises(AssertionError):
        CHECKS.assert_equal(*given)


@pytest.mark.parametrize(
    ("found", "expected", "is_same"),
    [
        ("1 2\n3\n", "1 2\n3", True),
        ("1 2 \n 3", "1 2\n3\n\n", True),
        ("1.0 2", "1 2.00", True),
        ("1 2 3", "1 2\n3", False),
        ("yes", "YES", False),
        ("0.3", "0.30000000000000004", False),
        ("", "0", False),
    ],
)
def test_printed_texts_are_compared_by_lines_and_decimals(found, expected, is_same):
    """Spaces at the ends of lines and trailing lines do not count; numbers are compared as exact decimals."""
    assert CHECKS.same_output(found, expected) == is_same


def test_plain_data_is_restored_from_its_source() -> None:
    """Every kind of plain data has a source text; what is larger than allowed, or no plain data, has none."""
    value = {"a": [1, -2.5, (), (1,), {2, 3}, set(), {}], 1: (b"x", None, True, 2j, math.inf, "inf")}
    assert eval(literal(value)) == value
    for refused in (object(), math.nan, 10**5000, "a" * 11, [1] * 11, [["a" * 9]]):
        with pytest.raises(OverflowError):
            literal(refused, 10)
