"""Validate the rows of a source, convert them to rows of the tasks table, and select tasks; no code is run."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.calibration import AS_TEXT, calibrate
from bigcodeflow.core.difficulty import parse_difficulty
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import HUB_COLUMNS
from bigcodeflow.core.untrusted_text import REFUSALS, parser, storable
from bigcodeflow.datasets.sources import SourceRow, raise_problems
from bigcodeflow.judge.expected_tests import bound_names, expected_test_ids, parse_once

TEXT_COLUMNS = tuple(name for name in HUB_COLUMNS if name != "libs")
UNKNOWN_LIBRARY_DOMAIN = "General"

#: Every task id of BigCodeBench, whichever of them a source holds.
BIGCODEBENCH_IDS = frozenset(f"BigCodeBench/{number}" for number in range(1140))
_RANGE = re.compile(r"(?:.*/)?(\d+)\s*-\s*(?:.*/)?(\d+)")
_SHOWN = 10
_PERCENT = 100
_PROMPTS = ("complete_prompt", "instruct_prompt", "code_prompt")


@cache
def hard_task_ids() -> frozenset[str]:
    """Return the ids of the 148 tasks of BigCodeBench-Hard."""
    return frozenset(json.loads(shipped("data/bigcodebench/hard_task_ids.json").read_bytes()))


@cache
def library_domains() -> Mapping[str, str]:
    """Return the domain of each top-level library, from the table of BigCodeBench's authors."""
    return MappingProxyType(json.loads(shipped("data/bigcodebench/library_domains.json").read_bytes()))


def task_rows(rows: Sequence[SourceRow]) -> list[dict[str, Any]]:
    """Convert validated rows to rows of the TASKS schema, in source order."""
    found = []
    for position, (_, values) in enumerate(rows):
        libs, hard = read_libs(values["libs"]), values.get("hard")
        domains, tests = values.get("domains"), values.get("expected_tests")
        if domains is None:
            domains = [library_domains().get(name.split(".")[0], UNKNOWN_LIBRARY_DOMAIN) for name in libs]
        if tests is None:
            tests = expected_test_ids(values["test"]) or ()
        found.append(
            {
                **{name: values[name] for name in TEXT_COLUMNS},
                "position": position,
                "libs": libs,
                "domains": sorted(set(domains)),
                "hard": values["task_id"] in hard_task_ids() if hard is None else hard,
                "expected_tests": sorted(set(tests)),
            }
        )
    return found


def read_libs(value: object) -> list[str]:
    """Return library names from a list or from its text, such as "['json']"; raise ValueError for other values."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value.strip())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError("not the text of a list") from None
    return text_list(value)


def text_list(value: object) -> list[str]:
    """Return ``value`` if it is a list of strings; otherwise raise ValueError."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("not a list of text")
    return value


def validate(rows: Sequence[SourceRow]) -> list[str]:
    """Return every error of the rows, one line per error; an empty list if all rows are valid tasks.

    Each line states the row's position and task id, the column and the remedy. A column that no row has is listed once.
    """
    absent = [name for name in HUB_COLUMNS if not any(name in row.values for row in rows)]
    problems = [f"{rows[0].place}: column {name!r} is missing in every row: add it" for name in absent] if rows else []
    seen: dict[str, str] = {}
    for row in rows:
        task_id = row.values.get("task_id")
        where = f"{row.place} ({task_id})" if isinstance(task_id, str) else row.place
        problems += [f"{where}: {problem}" for problem in _row_problems(row.values, absent)]
        if isinstance(task_id, str) and seen.setdefault(task_id, row.place) != row.place:
            problems.append(f"{where}: task_id is also used in {seen[task_id]}: give each task its own id")
    return problems


def _row_problems(values: Mapping[str, Any], absent: Sequence[str]) -> Iterator[str]:
    typing_problems = [*_column_problems(values, absent), *_optional_problems(values)]
    yield from typing_problems
    for name in _PROMPTS:
        if isinstance(values.get(name), str) and not values[name].strip():
            yield f"{name} is empty: write the prompt"
    if not typing_problems and not absent:
        yield from _program_problems(values)


def _column_problems(values: Mapping[str, Any], absent: Sequence[str]) -> Iterator[str]:
    for name in HUB_COLUMNS:
        if name in absent:
            continue
        if name not in values:
            yield f"column {name!r} is missing: add it"
        elif name in TEXT_COLUMNS and not isinstance(values[name], str):
            yield f"{name} must be text, not {type(values[name]).__name__}: write it as a string"
        elif name in TEXT_COLUMNS and storable(values[name]) != values[name]:
            yield f"{name} holds half of a surrogate pair, which no file can store: remove it"
    if values.get("task_id") == "":
        yield "task_id is empty: give each task its own id"
    if "libs" in values:
        try:
            read_libs(values["libs"])
        except ValueError as error:
            yield f"libs is {error}: write a list such as ['json', 'numpy']"


def _optional_problems(values: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(values.get("hard"), bool | None):
        yield f"hard must be true or false, not {type(values['hard']).__name__}: correct or drop it"
    for name in ("domains", "expected_tests"):
        if values.get(name) is None:
            continue
        try:
            if not text_list(values[name]) and name == "expected_tests":
                yield "expected_tests is empty, so that any program would pass: name the tests or drop the column"
        except ValueError as error:
            yield f"{name} is {error}: correct it, or drop the column to have it computed"


def _program_problems(values: Mapping[str, Any]) -> Iterator[str]:
    program, entry_point = values["complete_prompt"] + values["canonical_solution"], values["entry_point"]
    if values["code_prompt"].startswith(AS_TEXT):
        program = calibrate(values["code_prompt"], program)
    texts = {
        "complete_prompt + canonical_solution": program,
        "code_prompt + '    pass'": values["code_prompt"] + "\n    pass\n",
    }
    problems = {name: problem for name, text in texts.items() if (problem := _compile_problem(text))}
    yield from (f"{name} does not compile ({problem}): correct the program" for name, problem in problems.items())
    if not problems and entry_point not in bound_names(program):
        yield f"entry_point {entry_point!r} is not defined by complete_prompt + canonical_solution: correct either text"
    if problem := _compile_problem(values["test"]):
        yield f"test does not compile ({problem}): correct it"
        return
    tests = expected_test_ids(values["test"])
    if tests is None:
        yield "test has no class TestCases: give the unittest class this name"
    elif not tests and values.get("expected_tests") is None:
        yield "class TestCases has no method whose name starts with 'test': add one"


def _compile_problem(text: str) -> str:
    try:
        tree = parse_once(text)
        with parser():
            compile(tree, "<task>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except REFUSALS as error:
        return f"{type(error).__name__}: {error}"
    return ""


def solve_rates_of(rows: Sequence[SourceRow]) -> dict[str, float]:
    """Return solve rates (0 to 1) by task id, from rows in percent; raise one DatasetError for all invalid rows."""
    rates: dict[str, float] = {}
    problems: list[str] = []
    for place, values in rows:
        task_id, rate = values.get("task_id"), values.get("solve_rate")
        if not isinstance(task_id, str):
            problems.append(f"{place}: has no task_id: name the task")
        elif not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 <= rate <= _PERCENT:
            problems.append(f"{place} ({task_id}): solve_rate is {rate!r}: write a percentage, 0 to {_PERCENT}")
        else:
            rates[task_id] = rate / _PERCENT
    raise_problems(problems)
    return rates


def select(
    rows: Sequence[dict[str, Any]],
    config: DatasetConfig,
    known_task_ids: frozenset[str],
    solve_rates: Mapping[str, float] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the rows (TASKS schema) that the settings select, in their order; an empty setting selects all.

    ``config.ids`` may contain every id in ``known_task_ids``, even if no row has this id. If a difficulty is set,
    tasks without a known solve rate are left out. Raise DatasetError if a name is unknown or no task is left.
    """
    kept = [row for row in rows if row["hard"]] if config.subset == "hard" else list(rows)
    if config.ids.strip():
        ids = parse_ids(config.ids, known_task_ids)
        kept = [row for row in kept if row["task_id"] in ids]
    libraries = _known_names("libraries", config.libraries, (name for row in rows for name in row["libs"]))
    kept = [row for row in kept if not libraries or libraries & _folded(row["libs"])]
    own_domains = (name for row in rows for name in row["domains"])
    every_domain = {*library_domains().values(), UNKNOWN_LIBRARY_DOMAIN, *own_domains}
    domains = _known_names("domains", config.domains, every_domain)
    kept = [row for row in kept if not domains or domains & _folded(row["domains"])]
    if config.released_after:
        kept = [row for row in kept if released(row) >= config.released_after]
    if config.difficulty:
        kept = _of_difficulty(kept, config, solve_rates)
    if not kept:
        view = {"subset": config.subset.removeprefix("full"), "ids": config.ids.strip()}
        view |= {"libraries": ",".join(config.libraries), "domains": ",".join(config.domains)}
        view |= {"difficulty": config.difficulty, "released_after": config.released_after}
        parts = " and ".join(f"{name} {text}" for name, text in view.items() if text) or "the source"
        raise DatasetError(f"{config.source}: no task matches {parts}: widen the selection")
    return kept[: config.limit] if config.limit else kept


def _of_difficulty(
    rows: Sequence[dict[str, Any]], config: DatasetConfig, solve_rates: Mapping[str, float]
) -> list[dict[str, Any]]:
    wanted = parse_difficulty(config.difficulty)
    known = [row for row in rows if row["task_id"] in solve_rates]
    if rows and not known:
        raise DatasetError(
            f"dataset.difficulty: no task of {config.source} has a known solve rate: "
            "name a file that has it in dataset.solve_rates, or choose tasks with dataset.ids"
        )
    return [row for row in known if wanted.holds(solve_rates[row["task_id"]])]


def released(task: Mapping[str, Any]) -> str:
    """Return the release date in a task's doc_struct, such as '2024-08-01'; empty if doc_struct has no date."""
    try:
        return str(json.loads(task["doc_struct"])["released"])
    except (ValueError, KeyError, TypeError):
        return ""


def parse_ids(text: str, known: Iterable[str]) -> frozenset[str]:
    """Return the task ids of a selection such as '1,5-9,BigCodeBench/12'.

    A number selects the tasks whose id ends with a slash and this number. A range such as 5-9 selects all existing
    tasks with a number from 5 to 9.
    """
    ids = frozenset(known)
    numbers: dict[int, list[str]] = {}
    for task_id in ids:
        if (tail := task_id.rpartition("/")[2]).isdecimal():
            numbers.setdefault(int(tail), []).append(task_id)
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    found = {entry: _meant(entry, ids, numbers) for entry in entries}
    unknown = [entry for entry in entries if not found[entry]]
    if unknown or not entries:
        valid = f"the ids {', '.join(sorted(ids)[:_SHOWN])}{', …' if len(ids) > _SHOWN else ''}"
        if numbers:
            valid = f"numbers {min(numbers)} to {max(numbers)} and ids such as {min(numbers[min(numbers)])}"
        wrong = ", ".join(unknown) or repr(text)
        raise DatasetError(f"dataset.ids: {wrong} is not in the dataset: correct it; valid are {valid}")
    return frozenset().union(*found.values())


def ids_text(task_ids: Sequence[str], known: Iterable[str]) -> str:
    """Return a text for `parse_ids`, such as '1,5-9', that selects exactly ``task_ids`` from the ``known`` ids."""
    parts = [task_id.rpartition("/")[::2] for task_id in known]
    if len({prefix for prefix, _ in parts}) > 1 or not all(
        tail.isdecimal() and str(int(tail)) == tail for _, tail in parts
    ):
        return ",".join(task_ids)
    ranges: list[list[int]] = []
    for number in sorted(int(task_id.rpartition("/")[2]) for task_id in task_ids):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _meant(entry: str, ids: frozenset[str], numbers: dict[int, list[str]]) -> set[str]:
    if entry in ids:
        return {entry}
    if entry.isdecimal():
        return set(numbers.get(int(entry), ()))
    if match := _RANGE.fullmatch(entry):
        first, last = int(match[1]), int(match[2])
        # An end beyond the dataset is a typing error, a gap inside an own dataset is not.
        if numbers and min(numbers) <= first <= last <= max(numbers):
            return {task_id for number in numbers if first <= number <= last for task_id in numbers[number]}
    return set()


def _known_names(field: str, wanted: Sequence[str], available: Iterable[str]) -> frozenset[str]:
    if not wanted:
        return frozenset()
    names = sorted(set(available), key=str.casefold)
    unknown = [name for name in wanted if name.casefold() not in _folded(names)]
    if unknown:
        raise DatasetError(f"dataset.{field}: {', '.join(unknown)} is unknown here: choose from {', '.join(names)}")
    return _folded(wanted)


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)
