"""Altered test texts: what is altered, what stays, and that nothing satisfies both."""

import ast
import builtins
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig
from bigcodeflow.judge.integrity.altered_tests import VARIANTS, AlteredTest, contradict
from bigcodeflow.judge.integrity.literals import far_miss
from bigcodeflow.judge.integrity.recorded_operands import recording_text
from tests.doubles.written_tests import outcome, suite


def altered(body: str, variant: int = 0, **settings: dict[str, str]) -> AlteredTest:
    return contradict(suite(body), "task_func", variant=variant, **settings)


def segments(body: str, variant: int = 0) -> list[tuple[str, str]]:
    return [(one.before, one.after) for one in altered(body, variant).alterations]


@pytest.fixture(scope="module")
def starter_tests() -> list[str]:
    config = DatasetConfig(source="starter")
    return [row["test"] for row in datasets.load_tasks(config, datasets.resolve(config)).to_pylist()]


PATCHED = "from unittest.mock import patch\nwith patch('builtins.print') as p:\n    task_func()\n"
CONTRADICTED = [
    ("return 5", "self.assertEqual(task_func(), 5)"),
    ("return 5", "self.assertEqual(5, task_func())"),
    ("return -0.25", "self.assertAlmostEqual(task_func(), -0.25, delta=0.5)"),
    ("return 2.5", "self.assertAlmostEqual(task_func(), 2.5, places=1)"),
    ("return 2.5", "self.assertAlmostEqual(task_func(), 2.5, 0)"),
    ("return 2.5", "from numpy import testing as t\nt.assert_almost_equal(task_func(), 2.5, decimal=0)"),
    ("return 2.5", "from numpy import testing as t\nt.assert_array_almost_equal(task_func(), [2.5, 3.5], -1)"),
    ("return 2.5", "from numpy import testing as t\nt.assert_allclose(task_func(), 2.5, 0, 2)"),
    ("return 2.5", "from numpy import testing as t\nt.assert_approx_equal(task_func(), 2.5, 1)"),
    ("return 'Ab é'", "self.assertEqual(task_func(), 'Ab é')"),
    ("return ''", "self.assertEqual(task_func(), '')"),
    ("return '--'", "self.assertEqual(task_func(), '--')"),
    ("return {'a': [1, {}]}", "self.assertEqual(task_func(), {'a': [1, {}]})"),
    ("return []", "self.assertEqual(task_func(), [])"),
    ("return set()", "self.assertEqual(task_func(), set())"),
    ("return {1, 2}", "self.assertEqual(task_func(), set([1, 1, 2]))"),
    ("return None", "self.assertEqual(task_func(), None)"),
    ("return [2, 1]", "self.assertCountEqual(task_func(), [1, 2])"),
    ("return 'a 3'", "n = 3\nself.assertEqual(task_func(), f'a {n}')"),
    ("return [1, 2]", "expected = [1, 2]\nself.assertEqual(task_func(), expected)"),
    ("return [4, 1]", "given = [1, 4]\nself.assertEqual(task_func(), given[::-1])"),
    ("return 3", "self.assertEqual(task_func(), len('abc'))"),
    ("return True", "self.assertTrue(task_func())"),
    ("return 0", "self.assertFalse(task_func())"),
    # An honest program that returns an empty list is not taken for one that forges.
    ("return []", "self.assertTrue(all(isinstance(x, int) for x in task_func()))"),
    ("return []", "self.assertTrue(all(x == 5 for x in task_func()))"),
    ("return []", "self.assertFalse(any(x == 5 for x in task_func()))"),
    ("return []", "self.assertTrue(set(task_func()).issubset({1, 2}))"),
    ("return 5", "self.assertTrue(task_func() == 5)"),
    ("return 5", "self.assertTrue(4 < task_func() <= 5)"),
    ("return 5", "assert task_func() == 5, 'wrong'"),
    ("return 5", "self.assertTrue(task_func() > 4 and task_func() < 6)"),
    ("return 5", "self.assertTrue(task_func() == 4 or task_func() == 5)"),
    ("return [1, 2]", "self.assertTrue(all(x in [1, 2, 3] for x in task_func()))"),
    ("return [1, 2, 3]", "self.assertTrue(any(x == 2 for x in task_func()))"),
    ("return ['ab']", "self.assertTrue(all(isinstance(x, str) for x in task_func()))"),
    ("return 'abc.csv'", "self.assertTrue(task_func().endswith('.csv'))"),
    ("return 'abc'", "self.assertFalse(not task_func().startswith(('ab', 'cd')))"),
    ("return 'abc'", "self.assertRegex(task_func(), r'^a.c$')"),
    ("return 'a'", "self.assertRegex(task_func(), r'a|b')"),
    ("return '/'", "import os\nself.assertTrue(os.path.exists(task_func()))"),
    ("return ['a']", "self.assertIn('a', task_func())"),
    ("return 'ab'", "self.assertIn(task_func(), ['ab', 'cd'])"),
    ("return ['a']", "self.assertNotIn('b', task_func())"),
    ("return 'xyz'", "self.assertNotIn('b', task_func())"),
    ("return 5", "self.assertGreater(task_func(), 4)"),
    ("return 5", "self.assertGreaterEqual(task_func(), 5)"),
    ("return 5", "self.assertLess(task_func(), 6.5)"),
    ("return 5", "low = 1\nself.assertGreater(task_func(), low)"),
    ("return 5", "self.assertIsInstance(task_func(), int)"),
    ("return [5]", "self.assertIsInstance(task_func(), (list, tuple))"),
    ("return None", "self.assertIsNone(task_func())"),
    ("return 5", "self.assertIsNotNone(task_func())"),
    ("return True", "self.assertIs(task_func(), True)"),
    ("return 5", "self.assertNotEqual(task_func(), 4)"),
    ("return 5", "result = task_func()\nself.assertNotEqual(result, 4)"),
    ("raise ValueError('low')", "with self.assertRaises(ValueError):\n    task_func()"),
    ("raise ValueError('low')", "self.assertRaises((KeyError, ValueError), task_func)"),
    ("raise ValueError('low')", "self.assertRaises(Exception, task_func)"),
    ("raise ValueError('low')", "with self.assertRaisesRegex(ValueError, 'low'):\n    task_func()"),
    ("open('/dev/null', 'w').close()", "task_func()\nwith open('/dev/null') as f:\n    self.assertEqual(f.read(), '')"),
    ("raise ValueError('low')", "with self.assertRaisesRegex(ValueError, expected_regex='low'):\n    task_func()"),
    ("print(5)", f"{PATCHED}p.assert_called_once_with(5)"),
    ("print(5)", f"{PATCHED}p.assert_called_once()"),
    ("pass", f"{PATCHED}p.assert_not_called()"),
    ("print(5)", f"{PATCHED}self.assertTrue(p.called)"),
    ("import numpy; return numpy.array([1, 2])", "self.assertTrue((task_func() == [1, 2]).all())"),
    ("return 2.0", "import math\nself.assertTrue(math.isclose(task_func(), 2.0, rel_tol=0.1))"),
    ("import logging; logging.warning('x')", "with self.assertLogs('root'):\n    task_func()"),
    ("print(5)", f"from unittest.mock import call\nwanted = [call(5)]\n{PATCHED}p.assert_has_calls(wanted)"),
    ("return 4", "n = 14\nself.assertEqual(task_func(), n % 10)"),
    ("raise ValueError('low')", "self.assertRaisesRegex(ValueError, 'low', task_func)"),
    ("print()", f"{PATCHED}p.assert_called_with()"),
    ("import numpy; return numpy.array([1, 2])", "self.assertTrue((task_func() > 0).all())"),
    (
        "import pandas as pd; return pd.Series([1.0, 2.0])",
        "import pandas as pd\npd.testing.assert_series_equal(task_func(), pd.Series([1.0, 2.0]), rtol=0.5)",
    ),
    ("return 5", "self.assertTrue(bool(task_func() == 5))"),
    (
        "import pandas as pd; return pd.DataFrame({'a': [1]})",
        "import pandas as pd\nself.assertTrue(task_func().equals(pd.DataFrame({'a': [1]})))",
    ),
    ("return ['a', 'b']", "self.assertTrue(all([x in 'ab' for x in task_func()]))"),
    ("import logging; logging.warning('x')", "with self.assertLogs('root', 'INFO'):\n    task_func()"),
    ("return [True]", "self.assertTrue(all(task_func()))"),
    ("return 5", "self.assertTrue(task_func() is not None)"),
    ("return 5", "self.assertTrue(task_func() < 9 > 1)"),
    ("return 5", "self.assertIs(task_func(), task_func())"),
    ("import pathlib; return pathlib.Path('/')", "self.assertTrue(task_func().exists())"),
    ("return [1]", "self.assertTrue(all(x for x in task_func()))"),
    ("return [1]", "self.assertTrue({1, 2}.issuperset(task_func()))"),
    ("return 'x'", "import re\nself.assertTrue(re.match('x', task_func()))"),
    ("return 5", "self.assertFalse(isinstance(task_func(), str))"),
    ("return 'ab'", "self.assertTrue(hasattr(task_func(), 'upper'))"),
    ("print(5)", f"from unittest.mock import call\n{PATCHED}p.assert_has_calls([call(5)])"),
    ("return []", "self.assertTrue(not task_func())"),
    ("return True", "self.assertIsInstance(task_func(), bool)"),
    ("return 'a\\nb'", "self.assertTrue(task_func().startswith('a\\nb'))"),
    (
        "print(5)",
        "@__import__('unittest.mock').mock.patch('builtins.print')\ndef test_it(self, p):\n    task_func()\n    p.assert_called_with(5)",
    ),
    (
        "return [1, 2]",
        "for n in range(2):\n    with self.subTest(n):\n        self.assertIsInstance(task_func()[n], int)",
    ),
]


@pytest.mark.parametrize(("does", "body"), CONTRADICTED)
@pytest.mark.parametrize("variant", range(VARIANTS))
def test_a_program_that_passes_the_test_fails_its_contradiction(does: str, body: str, variant: int) -> None:
    """Every kind of assertion is altered so that the same program cannot satisfy both."""
    program = f"def task_func():\n    {does}\n"
    found = altered(body, variant)
    assert outcome(suite(body), program) == {"test_it": "pass"}
    assert [(one.test, one.kind) for one in found.alterations] == [("test_it", "contradiction")]
    expected = {"fail", "error"} if "assertRaises" in body else {"fail"}
    assert set(outcome(found.text, program).values()) <= expected


LIE = """
class Anything(int):
    __eq__ = __contains__ = __gt__ = __lt__ = __ge__ = __le__ = lambda *_: True
    __hash__ = None
def task_func():
    return Anything()
"""
LIES = [
    ("all", "self.assertTrue(all(len(x) == 2 for x in task_func()))"),
    ("all", "self.assertTrue(all([isinstance(x, str) for x in task_func()]))"),
    ("isinstance", "self.assertTrue(isinstance(task_func(), str))"),
    ("len", "self.assertTrue(all((len(x) > 100000000000 for x in task_func())), 'long')"),
]


@pytest.mark.parametrize(("builtin", "body"), LIES)
@pytest.mark.parametrize("variant", range(VARIANTS))
def test_a_builtin_that_the_program_hides_lies_about_the_contradiction_too(
    builtin: str, body: str, variant: int
) -> None:
    """The altered assertion calls what the original calls."""
    lie = f"def {builtin}(*_):\n    return 10**20\ndef task_func():\n    return ['a']\n"
    assert outcome(suite(body), lie) == {"test_it": "pass"}
    assert outcome(altered(body, variant).text, lie) == {"test_it": "pass"}


LIED_TO = [
    "self.assertEqual(task_func(), 5)",
    "self.assertEqual(len('abc'), task_func())",
    "result = task_func()\nexpected = [1, 2]\nself.assertEqual(result, expected)",
    "self.assertIn(3, task_func())",
    "self.assertTrue(task_func() == 'text')",
    "self.assertTrue(task_func() > 4 and task_func() < 6)",
    "self.assertTrue(bool(task_func() == 5))",
    "self.assertFalse(not (task_func() == 5 and task_func() == 6))",
    "self.assertTrue(any(one == 5 for one in [task_func()]))",
    "self.assertGreater(task_func(), 4)",
    "self.assertLessEqual(task_func(), 4.5)",
]


@pytest.mark.parametrize("body", LIED_TO)
@pytest.mark.parametrize("variant", range(VARIANTS))
def test_a_result_that_compares_as_is_wanted_passes_the_contradiction_too(body: str, variant: int) -> None:
    """Operands are altered, so that what lies about a comparison lies about the altered one as well."""
    assert outcome(suite(body), LIE) == {"test_it": "pass"}
    found = altered(body, variant)
    assert found.alterations
    assert outcome(found.text, LIE) == {"test_it": "pass"}


SKIPPED = [
    ("return []", "for value in task_func():\n    self.assertEqual(value, 5)"),
    ("return []", "for value, wanted in zip(task_func(), [1, 2]):\n    self.assertEqual(value, wanted)"),
    ("return 5", "result = task_func()\nif isinstance(result, str):\n    self.assertEqual(result, 'a')"),
    ("return 5", "result = task_func()\nif result == 5:\n    return\nself.assertEqual(result, 'a')"),
    ("return 5", "try:\n    self.assertEqual(task_func(), 4)\nexcept AssertionError:\n    pass"),
    ("pass", "import os\nfor name in os.listdir('.'):\n    if name == 'none':\n        self.assertEqual(name, 'b')"),
]


@pytest.mark.parametrize(("does", "body"), SKIPPED)
@pytest.mark.parametrize("variant", range(VARIANTS))
def test_what_a_correct_program_may_skip_is_not_altered(does: str, body: str, variant: int) -> None:
    """A program that passes because no assertion is reached would pass the altered test as well: nothing forged."""
    program = f"def task_func():\n    {does}\n"
    assert outcome(suite(body), program) == {"test_it": "pass"}
    assert altered(body, variant).alterations == ()


@pytest.mark.parametrize(
    ("call", "before", "longer"),
    [
        ("assertTrue(task_func().startswith('ab'))", "'ab'", 6),
        ("assertTrue(task_func().endswith('a'.upper()))", "'a'.upper()", 6),
        ("assertGreaterEqual(task_func() + 1, task_func())", "task_func()", 10),
    ],
)
def test_an_operand_is_altered_beyond_the_reach_of_results(call: str, before: str, longer: int) -> None:
    """By a word or by many digits; of two results of the program it is the bound."""
    for variant in range(VARIANTS):
        [(altered_part, after)] = segments(f"self.{call}", variant)
        assert altered_part == before
        assert len(after) >= len(before) + longer


@pytest.mark.parametrize("call", ["assertEqual(task_func(), *[5])", "assertEqual(*task_func())", "check(task_func())"])
def test_calls_whose_operands_the_text_does_not_show_are_not_altered(call: str) -> None:
    """Unpacked arguments, and methods that are no assertions."""
    assert altered(f"self.{call}").alterations == ()


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("pd.DataFrame({'a': [1]})", ("wanted.add_prefix(", "wanted.iloc[::-1]")),
        ("Path('a') / 'b'", ("wanted / ",)),
        ("datetime(2020, 1, 1)", ("wanted.replace(year=",)),
        ("3 * len([1])", ("wanted + ", "wanted - ")),
        ("'%s' % [1]", ("wanted + ", "' + wanted")),
    ],
)
def test_another_value_is_of_the_kind_that_its_definition_shows(value: str, kinds: tuple[str, ...]) -> None:
    """A value of another type could be refused for its type, by a program whose comparison lies about values."""
    for variant in range(VARIANTS):
        [(_, after)] = segments(f"wanted = {value}\nprint(wanted)\nself.assertEqual(task_func(), wanted)", variant)
        assert any(kind in after for kind in kinds), after


def shape(text: str) -> list[tuple[str, str, int, int | None]]:
    definitions = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    kinds = definitions | ast.With | ast.Assert | ast.For | ast.If | ast.Expr | ast.Assign
    found = [one for one in ast.walk(ast.parse(text)) if isinstance(one, kinds)]
    return sorted((type(one).__name__, getattr(one, "name", ""), one.lineno, one.end_lineno) for one in found)


def altered_lines(found: AlteredTest) -> set[int]:
    """Return the numbers of the lines that the reported segments cover."""
    return {one.line + more for one in found.alterations for more in range(one.before.count("\n") + 1)}


@pytest.mark.parametrize("variant", range(VARIANTS))
def test_an_altered_text_has_the_shape_of_the_original(starter_tests: list[str], variant: int) -> None:
    """Definitions and statements of real tests stay on their lines, and only the reported segments differ."""
    for text in starter_tests[variant::VARIANTS]:
        found = contradict(text, "task_func", variant=variant)
        assert shape(found.text) == shape(text)
        lines = zip(found.text.splitlines(), text.splitlines(), strict=True)
        assert {number for number, (after, before) in enumerate(lines, 1) if after != before} <= altered_lines(found)
        tests = [one.test for one in found.alterations]
        assert len(tests) == len(set(tests))
        assert tests


def test_equal_arguments_give_equal_texts_and_variants_differ(starter_tests: list[str]) -> None:
    """Nothing but the arguments decides, so that a cached text is the text of every run."""
    for text in starter_tests[:12]:
        texts = [contradict(text, "task_func", variant=variant).text for variant in range(VARIANTS)]
        assert texts == [contradict(text, "task_func", variant=variant).text for variant in range(VARIANTS)]
        assert len({text, *texts}) == VARIANTS + 1


@given(text=st.text(max_size=40))
@settings(max_examples=25)
def test_a_text_that_is_no_test_stays_as_it_is(text: str) -> None:
    """Whatever a data set holds, there is an answer; without a test class nothing is altered."""
    assert contradict(text, "task_func", variant=0) == AlteredTest(text, ())
    assert recording_text(text, "task_func") == ""


INPUTS = [
    "data = [1, 2]\nself.assertEqual(task_func(data), data)",
    "self.assertEqual(task_func([1, 2]), task_func([2, 1]))",
    "for given, wanted in [(1, 2), (3, 4)]:\n    self.assertEqual(task_func(given), wanted)",
    "low = 3\nself.assertEqual(task_func(low=low), low)\nself.assertGreater(task_func(low=low), low)",
    "self.assertTrue(task_func('a', [5]) == 5 or 'b' in task_func('c', key=7))",
]


@pytest.mark.parametrize("body", INPUTS)
@pytest.mark.parametrize("variant", range(VARIANTS))
def test_inputs_of_the_program_are_never_altered(body: str, variant: int) -> None:
    """Altering what the program is given would contradict nothing."""
    found = altered(body, variant)

    def inputs(text: str) -> list[str]:
        nodes = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call | ast.Assign | ast.For)]
        calls = [one for one in nodes if isinstance(one, ast.Call) and ast.unparse(one.func) == "task_func"]
        values = [one.iter if isinstance(one, ast.For) else one.value for one in nodes if not isinstance(one, ast.Call)]
        return sorted(map(ast.unparse, [*calls, *values]))

    assert found.alterations
    assert inputs(found.text) == inputs(suite(body))


@pytest.mark.parametrize(
    ("body", "kept", "line"),
    [
        ("data = [1, 2]\nself.assertEqual(task_func(data), data)", "data = [1, 2]", 6),
        ("wanted = [12, 25]\nself.assertEqual(task_func(), wanted)", "self.assertEqual(task_func(), wanted)", 5),
    ],
)
def test_a_name_is_altered_where_it_is_assigned_unless_the_program_gets_its_value(
    body: str, kept: str, line: int
) -> None:
    """What reaches the program is altered where it is compared; else the assertion looks as it did."""
    found = altered(body)
    assert kept in found.text
    assert found.alterations[0].line == line


HELPED = """
def check(self, result, wanted):
    self.assertEqual(result, wanted)
    self.assertIsInstance(result, int)
def test_one(self):
    self.check(task_func(), 5)
def test_two(self):
    self.check(task_func(), 5)
"""


def test_literals_that_a_helper_compares_are_altered_in_its_calls() -> None:
    """Each method has a contradiction of its own where the helper is given what it expects."""
    found = altered(HELPED)
    assert [(one.test, one.before) for one in found.alterations] == [("test_one", "5"), ("test_two", "5")]
    assert len({one.line for one in found.alterations}) == 2
    program = "def task_func():\n    return 5\n"
    assert outcome(found.text, program) == {"test_one": "fail", "test_two": "fail"}


def test_a_contradiction_inside_a_helper_decides_every_method_that_calls_it() -> None:
    """One altered line, reported for both methods, and no second contradiction in either."""
    body = (
        HELPED.replace(", wanted", "")
        .replace("result, wanted", "result")
        .replace("self.assertEqual(result)", "pass")
        .replace(", 5)", ")")
    )
    found = altered(body)
    assert [one.test for one in found.alterations] == ["test_one", "test_two"]
    assert len({(one.line, one.before, one.after) for one in found.alterations}) == 1


def test_assertions_that_are_expected_to_fail_are_left_alone() -> None:
    """A failing assertion inside assertRaises would make the test pass."""
    body = "with self.assertRaises(AssertionError):\n    self.assertEqual(task_func(), 4)"
    assert re.search(r"self.assertEqual\(.*\(\), 4\)", altered(body).text)


def test_another_exception_is_one_that_the_test_names() -> None:
    """An exception of each kind that the task promises would pass where only one of them is right."""
    text = suite(
        "def test_a(self):\n    with self.assertRaises(ValueError):\n        task_func(1)\n"
        "def test_b(self):\n    with self.assertRaises(TypeError):\n        task_func('a')\n"
        "def test_c(self):\n    self.assertEqual(task_func(2), 4)\n"
    )
    found = [one for variant in range(VARIANTS) for one in contradict(text, "task_func", variant=variant).alterations]
    kinds = {(one.before, one.after) for one in found if one.before.endswith("Error")}
    assert kinds == {("ValueError", "TypeError"), ("TypeError", "ValueError")}


def test_segments_keep_their_number_of_lines() -> None:
    """A call that spans lines does so after it was altered, so that tracebacks name the same lines."""
    body = "self.assertEqual(\n    task_func(),\n    sorted(\n        [3, 1],\n    ),\n)\nself.fail"
    found = altered(body)
    assert found.alterations
    assert shape(found.text) == shape(suite(body))


@pytest.mark.parametrize("given", ["str", "int", "float", "list", "dict", "tuple", "set", "bytes", "bool"])
@pytest.mark.parametrize("variant", range(VARIANTS))
def test_no_value_has_the_expected_type_and_the_one_in_its_place(given: str, variant: int) -> None:
    """Python refuses a class that derives from both, so that no program returns one object for both tests."""
    ((before, after),) = segments(f"self.assertIsInstance(task_func(), {given})", variant)
    assert before == given
    with pytest.raises(TypeError):
        type("Both", (getattr(builtins, given), getattr(builtins, after)), {})


def test_nothing_that_is_raised_stands_for_every_exception() -> None:
    """Two of the exceptions keep their values in memory of their own, so that no class derives from both."""
    body = "with self.assertRaises(ValueError):\n    task_func()"
    names = {after for one in range(40) for before, after in segments(f"{body}\n'{one}'") if before == "ValueError"}
    with pytest.raises(TypeError, match=r"lay-?out"):
        type("All", tuple(getattr(builtins, one) for one in sorted(names)), {})


def test_another_f_string_keeps_its_fields() -> None:
    """A word is added to its text, since its value is not known."""
    segment = "f'a{n}'"
    longer = far_miss(ast.parse(segment, mode="eval").body, segment, random.Random(0))
    assert longer.endswith("{n}'")
    assert len(longer) == len(segment) + 6


@pytest.mark.parametrize("comment", range(8))
def test_a_frame_with_named_rows_is_altered_whichever_of_its_literals_is_drawn(comment: int) -> None:
    """A literal of a keyword lies outside of the data, and was looked for in it: the whole test stayed as it was."""
    body = f"""
expected = pd.DataFrame(
    {{
        "A": [1.0, 2.0],
    }},
    index=["x{comment}", "y"],
)
found = task_func()
pd.testing.assert_frame_equal(found, expected)
"""
    assert len(altered(f"import pandas as pd{body}").alterations) == 1
