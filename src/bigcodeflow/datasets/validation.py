"""What can be wrong with a task, found for all rows at once and without running any of them."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bigcodeflow.core.schemas import HUB_COLUMNS
from bigcodeflow.datasets.rows import TEXT_COLUMNS, read_libs, text_list
from bigcodeflow.datasets.source import SourceRow
from bigcodeflow.datasets.test_ids import bound_names, expected_test_ids, parse_quietly

_PROMPTS = ("complete_prompt", "instruct_prompt", "code_prompt")
# What the text of a hostile or broken program can raise when it is compiled.
_COMPILE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)


def validate(rows: Sequence[SourceRow]) -> list[str]:
    """Everything that keeps the rows from being tasks, one line a problem; empty when all is well.

    A problem names the row's place and task id, the column and the remedy. A column that no row has is named once.
    """
    absent = [name for name in HUB_COLUMNS if not any(name in row.values for row in rows)]
    problems = [f"{rows[0].place}: column {name!r} is missing in every row: add it" for name in absent] if rows else []
    seen: dict[str, str] = {}
    for row in rows:
        task_id = row.values.get("task_id")
        where = f"{row.place} ({task_id})" if isinstance(task_id, str) else row.place
        problems += [f"{where}: {problem}" for problem in _row_problems(row.values, absent)]
        if not isinstance(task_id, str):
            continue
        if task_id in seen:
            problems.append(f"{where}: task_id is that of {seen[task_id]} too: give each task its own")
        seen.setdefault(task_id, row.place)
    return problems


def _row_problems(values: Mapping[str, Any], absent: Sequence[str]) -> Iterator[str]:
    typing_problems = [*_column_problems(values, absent), *_optional_problems(values)]
    yield from typing_problems
    for name in _PROMPTS:
        if isinstance(values.get(name), str) and not values[name].strip():
            yield f"{name} is empty: write the prompt"
    if not typing_problems and not absent:
        yield from _program_problems(values)
        yield from _test_problems(values)


def _column_problems(values: Mapping[str, Any], absent: Sequence[str]) -> Iterator[str]:
    for name in HUB_COLUMNS:
        if name in absent:
            continue
        if name not in values:
            yield f"column {name!r} is missing: add it"
        elif name in TEXT_COLUMNS and not isinstance(values[name], str):
            yield f"{name} must be text, not {type(values[name]).__name__}: write it as a string"
        elif name in TEXT_COLUMNS and not _is_utf8(values[name]):
            yield f"{name} holds half of a surrogate pair, which no file can store: remove it"
    if values.get("task_id") == "":
        yield "task_id is empty: give each task its own"
    if "libs" in values:
        try:
            read_libs(values["libs"])
        except ValueError as error:
            yield f"libs is {error}: write such as ['json', 'numpy']"


def _optional_problems(values: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(values.get("hard"), bool | None):
        yield f"hard must be true or false, not {type(values['hard']).__name__}: correct or drop it"
    for name in ("domains", "expected_tests"):
        if values.get(name) is None:
            continue
        try:
            empty = not text_list(values[name])
        except ValueError as error:
            yield f"{name} is {error}: correct it, or drop the column to have it computed"
        else:
            if empty and name == "expected_tests":
                yield "expected_tests is empty, so that any program would pass: name the tests or drop the column"


def _program_problems(values: Mapping[str, Any]) -> Iterator[str]:
    program = values["complete_prompt"] + values["canonical_solution"]
    stub = values["code_prompt"] + "\n    pass\n"
    compiles = True
    for name, text in (("complete_prompt + canonical_solution", program), ("code_prompt + '    pass'", stub)):
        if problem := _compile_problem(text):
            compiles = False
            yield f"{name} does not compile ({problem}): correct the program"
    entry_point = values["entry_point"]
    if compiles and entry_point not in bound_names(parse_quietly(program)):
        yield f"entry_point {entry_point!r} is not defined by complete_prompt + canonical_solution: correct either"


def _test_problems(values: Mapping[str, Any]) -> Iterator[str]:
    if problem := _compile_problem(values["test"]):
        yield f"test does not compile ({problem}): correct it"
        return
    found = expected_test_ids(values["test"])
    if found is None:
        yield "test has no class TestCases: name the unittest class so"
    elif not found and values.get("expected_tests") is None:
        yield "class TestCases has no method whose name starts with 'test': add one"


def _compile_problem(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(parse_quietly(text), "<task>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except _COMPILE_ERRORS as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
