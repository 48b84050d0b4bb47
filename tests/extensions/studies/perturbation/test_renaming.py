"""Renamed programs behave as the originals do, whatever their parameters are used for."""

import ast
import random
from collections.abc import Mapping
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.source_text import Edit, SourceText, UnsafeError, edited
from bigcodeflow_studies.perturbation.renaming import (
    keyword_edits,
    parameter_edits,
    renamed_function,
    renamed_parameters,
    renamed_prose,
)
from bigcodeflow_studies.perturbation.task_texts import Program, TaskTexts

#: Uses of the parameters data and n, whole numbers, and of x, whatever the statement before left there.
STATEMENTS = (
    "x = [data for data in range(n)]",
    "x = [data + other for other in range(data) if other < n]",
    "x = {data: n for n in range(data % 3)}",
    "x = (lambda data: data + n)(data)",
    "x = (lambda n=n: data + n)()",
    "x = f'{data!r:>{n}} {{data}} {n + 1} é {data != n}'",
    """x = f"{data}" 'data' rf'{n}\\{data}'""",
    '''x = f"""data
    {data} {[n for n in range(data)]} {f'{data}' + "data"}"""''',
    "x = 'é' * n, data",
    "x = dict(data=data)['data']",
    "def inner(data=data, *, n=n):\n        return data, n\n    x = inner()",
    "def inner():\n        n = data\n        return n\n    x = inner()",
    "def inner():\n        import math as n\n        return n.floor(data)\n    x = inner()",
    "if (m := n) and data:\n        x = m",
    "for data in [data, n]:\n        x = data",
    "data += n",
    "n, (data, *rest) = data, (n, 1)",
    "del n\n    n = 3",
    "class Held:\n        value = data\n    x = Held.value",
    "try:\n        x = data // n\n    except ZeroDivisionError as error:\n        x = str(error)",
    "x = task_func(data - 1, n=0) if data > 0 and n else data",
    "x = {**{'n': n}}",
)
programs = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6).map(
    lambda chosen: "\n    ".join(["def task_func(data, n=2):", "x = None", *chosen, "return x, data, n"])
)
NAMES = {"data": "given_data", "n": "n_arg"}


def renamed(program: str, names: Mapping[str, str] = NAMES) -> str:
    return edited(program, parameter_edits(Program(program, "task_func"), names))


def outcome(program: str, data: int, **named: int) -> object:
    space: dict[str, object] = {}
    exec(program, space)
    try:
        return space["task_func"](data, **named)  # type: ignore[operator]
    except (TypeError, ValueError, UnboundLocalError, RecursionError) as error:
        return type(error)


def shapes(code: CodeType) -> set[tuple[bytes, frozenset[str]]]:
    """Of every code object within: what it does, and the names of its variables; new names are read as the old."""
    old = {new: name for name, new in NAMES.items()}
    found = {(b"", frozenset(old.get(name, name) for name in (*code.co_varnames, *code.co_cellvars)))}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= shapes(constant)
    return found


@pytest.mark.slow
@given(programs, st.integers(0, 4), st.integers(0, 3))
def test_a_renamed_program_gives_the_same(program: str, data: int, n: int) -> None:
    """Within comprehensions, lambdas, functions and f-strings too; variables are the same up to the new names."""
    changed = renamed(program)
    assert outcome(changed, data, n_arg=n) == outcome(program, data, n=n)
    assert shapes(compile(changed, "", "exec")) == shapes(compile(program, "", "exec"))


@given(programs)
def test_a_renamed_program_can_be_named_back(program: str) -> None:
    """No place is renamed that did not mean the parameter."""
    back = {new: old for old, new in NAMES.items()}
    assert renamed(renamed(program), back) == program


@pytest.mark.parametrize(
    "statement",
    [
        "def inner():\n        nonlocal data\n        data = 1\n    inner()",
        "x = locals()",
        "x = eval('data')",
        "x = f'{data=}'",
        "x = table.query('a > @data')",
        "import math as data",
        "try:\n        pass\n    except ValueError as data:\n        pass",
        "match n:\n        case [data]:\n            pass",
        "def data():\n        pass",
        "class Held:\n        data = data",
    ],
)
def test_what_may_mean_the_name_itself_is_refused(statement: str) -> None:
    """A name that the text binds elsewhere, or reads as text, keeps its spelling."""
    with pytest.raises(UnsafeError):
        renamed(f"def task_func(data, n=2):\n    {statement}\n")


_EXPRESSIONS = st.sampled_from(
    ["a", "a != b", "d['k']", ' {"x": 1}["x"]', "(lambda: 1)()", "f'{a}'", "a or b", " {a} "]
)


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "t {{x}} ", "é "]), _EXPRESSIONS, st.sampled_from(["", "!r", ":>{w}", ":%H:%M"]))
    )
)
def test_names_in_an_f_string_are_renamed_where_python_reads_them(parts: list[tuple[str, str, str]]) -> None:
    """In fields and in those of format specs; conversions, specs and text keep their letters."""
    body = "".join(f"a {text}{{{expression}{rest}}}" for text, expression, rest in parts)
    program = f"def task_func(a):\n    return f'''{body}''' 'plain {{a}}' \\\n        f'a{{a!a}}'\n"
    expected = ast.dump(ast.parse(program)).replace("id='a'", "id='other'").replace("arg='a'", "arg='other'")
    assert ast.dump(ast.parse(renamed(program, {"a": "other"}))) == expected


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_names_are_found_behind_any_letters_and_line_ends(line_end: str) -> None:
    """The parser counts lines by every line end, and columns in bytes of UTF-8."""
    program = f"def task_func(a, ö):{line_end}    return 'é😀', a, 'ü', ö{line_end}"
    assert renamed(program, {"a": "x", "ö": "é"}) == program.replace("a,", "x,").replace("ö", "é")


def test_edits_may_be_repeated_and_must_not_overlap() -> None:
    """In any order."""
    assert edited("a + b", [Edit(4, 5, "z"), Edit(0, 1, "xy"), Edit(4, 5, "z")]) == "xy + z"
    with pytest.raises(UnsafeError, match="two edits overlap at byte 3"):
        edited("a + b", [Edit(0, 4, ""), Edit(3, 5, "")])


def test_calls_are_renamed_wherever_they_name_a_parameter() -> None:
    """Called, handed to another function, or in a mapping that is written where it is handed on."""
    test = """
task_func(data=1, other=2)
module.task_func(data=data)
self.assertRaises(ValueError, task_func, data=3)
partial(task_func, data=4)(n=5)
Thread(target=task_func, kwargs={"data": 6})
task_func(**{'data': 7})
elsewhere(data=8)
print(f"{task_func(data=9)}")
"""
    changed = edited(test, keyword_edits(SourceText(test), "task_func", {"data": "input_data"}))
    assert changed.count("input_data") == 7
    assert "elsewhere(data=8)" in changed
    test = "given = {'data': 1}\ntask_func(size=1, **given)"
    with pytest.raises(UnsafeError, match="data may be handed on in a mapping"):
        keyword_edits(SourceText(test), "task_func", {"data": "d"})
    assert keyword_edits(SourceText(test), "task_func", {"rows": "r"}) == []


def test_prose_keeps_words_that_are_no_parameter() -> None:
    """Lists of parameters, code in backticks and words that only a name can be; not what a message has to say."""
    text = """Reads data by `data` in a row_count loop, if 'data' is not empty.

    Parameters:
    - data (list): The data to read.
    row_count (int): Number of rows.

    Returns:
    data: all of it, "max_size is wrong" where {max_size} is exceeded, 'row_count is 0'
    >>> task_func(data=[1],
    ...           row_count=2)
    data
    """
    names = {"data": "D", "row_count": "R", "max_size": "M"}

    def code(lines: str) -> str:
        return edited(lines, keyword_edits(SourceText(lines), "task_func", names))

    changed = renamed_prose(text, names, code, {"max_size", "row_count is 0"})
    assert "Reads data by `D` in a R loop, if 'data' is not empty." in changed
    assert "- D (list): The data to read.\n    R (int): Number of rows." in changed
    assert "data: all of it, \"max_size is wrong\" where {M} is exceeded, 'row_count is 0'" in changed
    assert ">>> task_func(D=[1],\n    ...           R=2)\n    data" in changed


TASK = TaskTexts(
    task_id="Own/1",
    entry_point="task_func",
    code_prompt="def task_func(size, step=2):\n",
    complete_prompt='def task_func(size, step=2):\n    """Count.\n\n    Args:\n    size (int): x\n    """\n',
    instruct_prompt="Count.\nYou should write self-contained code starting with:\n```\ndef task_func(size, step=2):\n```",
    canonical_solution="    return f'{size}' * step",
    test="""import unittest
from unittest.mock import patch
class TestCases(unittest.TestCase):
    @patch('__main__.task_func')
    def test_a(self, mock):
        self.assertEqual(task_func(size=1, step=2), "11")
""",
    doc_struct='{"params": ["size (int): x"]}',
)


def test_a_function_is_renamed_in_every_text() -> None:
    """In strings that name it for a mock too."""
    changed = renamed_function(TASK, random.Random(1))
    assert "task_func" not in changed.every_text()
    assert changed.every_text().replace(changed.entry_point, "task_func") == TASK.every_text()


def test_parameters_are_renamed_in_every_text() -> None:
    """Signature, docstring, prose, solution, test and doc_struct stay consistent."""
    changed = renamed_parameters(TASK, random.Random(1))
    size, step = (argument.arg for argument in changed.program.function.args.args)
    assert size != "size"
    assert step != "step"
    assert changed.canonical_solution == f"    return f'{{{size}}}' * {step}"
    assert changed.code_prompt == f"def task_func({size}, {step}=2):\n"
    assert f"def task_func({size}, {step}=2):\n```" in changed.instruct_prompt
    assert f"task_func({size}=1, {step}=2)" in changed.test
    assert f"    {size} (int): x" in changed.complete_prompt
    assert changed.doc_struct == f'{{"params": ["{size} (int): x"]}}'


def test_an_entry_point_that_is_an_ordinary_word_stays() -> None:
    """Not every place that has the word means the function."""
    task = TaskTexts(**{**TASK.columns(), "entry_point": "median"})
    with pytest.raises(UnsafeError, match="ordinary word"):
        renamed_function(task, random.Random(1))
