"""HumanEval+ and MBPP+: tests call the function with many inputs and compare the results by EvalPlus's rules."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bigcodeflow.datasets import Benchmark
from bigcodeflow_benchmarks.function_tests import Cases, expected_texts, test_text

_SETS = (
    "similar_elements find_char_long common_in_nested_lists extract_singly larg_nnum intersection_array "
    "find_dissimilar Diff"
)
_NOT_NONE = ("check_str", "text_match_three", "text_starta_endb")
#: Comparisons of results that are no plain equality, by entry point.
_RULES = {
    **dict.fromkeys(_SETS.split(), "set(found) == set(expected)"),
    **dict.fromkeys(_NOT_NONE, "(found if isinstance(found, bool) else found is not None) == expected"),
    "are_equivalent": "True",
    "sum_div": "found in (expected, 0)",
    "surface_Area": "found == expected or"
    " abs(found - round(given[0] * (given[0] + (given[0] ** 2 + 4 * given[1] ** 2) ** 0.5))) <= atol",
    "digit_distance_nums": "found == expected or found == sum(abs(int(one) - int(other)) for one, other in"
    " zip(*(str(number).zfill(max(map(len, map(str, given)))) for number in given)))",
    "find_zero": "abs(sum(one * found**power for power, one in enumerate(given[0])) - expected) <= atol",
}
#: Numbers of MBPP's tasks whose lists are tuples: of the arguments at these places (None: of all), at these levels of
#: nesting, of which 0 is the argument itself.
_TUPLES: Mapping[tuple[int | None, tuple[int, ...]], str] = {
    (None, (0,)): "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809",
    (None, (1,)): "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780",
    (0, (1,)): "75 413 444 753",
    (1, (0,)): "106 750",
    (0, (0,)): "250 307 405 446 617 720 763 808",
    (None, (0, 1)): "259 278 401 445",
    (None, tuple(range(99))): "580 615 791",
}
_PLACES = {int(number): shape for shape, numbers in _TUPLES.items() for number in numbers.split()}
#: Number of inputs from the original HumanEval, for each task in order; the rows on the hub lack this number.
_BASE_COUNTS = (
    "7 4 3 6 3 3 3 4 5 4 5 3 3 4 3 3 5 5 4 5 5 5 3 3 5 8 3 3 3 2 4 13 100 10 1 2 8 3 100 10 9 5 3 9 12 3 4 5 7 7 "
    "100 7 6 105 7 5 12 8 4 5 5 12 5 7 7 5 8 7 8 25 9 9 6 8 9 4 10 16 13 4 8 6 16 5 5 4 7 6 7 8 7 6 10 5 9 14 10 "
    "16 7 5 5 6 8 12 4 5 4 8 8 5 7 8 9 3 12 5 8 14 13 12 11 7 5 4 16 8 13 8 8 10 10 7 14 12 10 5 11 8 8 4 5 26 11 "
    "7 13 6 7 4 11 7 10 7 4 9 6 8 14 11 10 6 3 8 4 4 "
)
_CALL = re.compile(r"(\w+)\(\*inp\)")


def _tuples(value: Any, levels: tuple[int, ...], level: int = 0) -> Any:
    if not isinstance(value, list):
        return value
    parts = [_tuples(one, levels, level + 1) for one in value]
    return tuple(parts) if level in levels else parts


def _arguments(number: int, given: Sequence[Any]) -> list[Any]:
    """Return the arguments ``given`` of MBPP's task ``number``; restore tuples and complex numbers, missing in JSON."""
    if number in _PLACES:
        place, levels = _PLACES[number]
        return [_tuples(one, levels) if place in (None, at) else one for at, one in enumerate(given)]
    match number:
        case 124:
            return [float(given[0]), complex(given[1])]
        case 252:
            return [complex(given[0])]
        case 722:
            return [{key: tuple(value) for key, value in given[0].items()}, *given[1:]]
    return list(given)


def _hub_inputs(test: str) -> list[Any]:
    """Return the value that a hub row's test text assigns to the name ``inputs``; an empty list without the name."""
    for node in ast.walk(ast.parse(test)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "inputs":
            text = re.sub(r"\binf\b", "1e999", ast.unparse(node.value))
            return list(ast.literal_eval(text))
    return []


def _cases(row: Mapping[str, Any], inputs: Mapping[str, Any], **columns: str) -> Cases:
    """Return a task with its inputs; the tolerance is the row's ``atol``, or else is read from the row's test text."""
    stated = re.findall(r"assertion\(.*, ([\d.e-]+)\)", row.get("test") or "")
    entry_point = columns["entry_point"]
    result = f"{entry_point}(*given) is not None" if entry_point in _NOT_NONE else ""
    result = "0.0" if entry_point == "find_zero" else result
    atol = row.get("atol", float(stated[-1]) if stated else 0)
    return Cases(columns, inputs, atol, _RULES.get(entry_point, ""), result)


def _humaneval(row: Mapping[str, Any]) -> Cases:
    if "base_input" in row:
        inputs = {"base": row["base_input"], "plus": row["plus_input"]}
    else:
        every, count = _hub_inputs(row["test"]), int(_BASE_COUNTS.split()[int(row["task_id"].partition("/")[2])])
        inputs = {"base": every[:count], "plus": every[count:]}
    header = f"def {row['entry_point']}("
    setup = f"{row['prompt'].partition(header)[0]}{header}*args, **kwargs):"
    columns = ("task_id", "canonical_solution", "entry_point")
    return _cases(row, inputs, complete_prompt=row["prompt"], code_prompt=setup, **{one: row[one] for one in columns})


def _mbpp(row: Mapping[str, Any]) -> Cases:
    number = int(str(row["task_id"]).rpartition("/")[2])
    task_id = f"Mbpp/{number}"
    if "base_input" in row:
        inputs = {name: [_arguments(number, one) for one in row[f"{name}_input"]] for name in ("base", "plus")}
        names = ("canonical_solution", "entry_point")
        return _cases(row, inputs, task_id=task_id, complete_prompt=row["prompt"], **{one: row[one] for one in names})
    every, count = _hub_inputs(row["test"]), len(row["test_list"])
    inputs = {"base": every[:count], "plus": every[count:]}
    prompt, entry_point = f'"""\n{row["prompt"]}\n{row["test_list"][0]}\n"""\n', re.findall(_CALL, row["test"])[-1]
    return _cases(
        row, inputs, task_id=task_id, complete_prompt=prompt, canonical_solution=row["code"], entry_point=entry_point
    )


def _tasks(cases_of: Callable[[Mapping[str, Any]], Cases], rows: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    found = [cases_of(row) for row in rows]
    for cases, expected in zip(found, expected_texts(found, "starter"), strict=True):
        yield {**cases.task, "test": test_text(cases, expected)}


#: As the benchmark's own evaluator: 60 s and 4 GiB a sample, programs without anything in front.
_SETTINGS = {
    "sanitizing.mode": "parity",
    "execution.environment": "starter",
    "execution.variants": ["raw"],
    "execution.limits.time_seconds": 60,
    "execution.limits.address_space_mib": 4096,
    "execution.limits.memory_mib": 4096,
    "generation.sampling.max_tokens": 768,
}
_PLUS: dict[str, Any] = {"version": 1, "license": "Apache-2.0", "parts": {"base": "test_base"}, "split": "test"}
HUMANEVAL = Benchmark(
    partial(_tasks, _humaneval),
    release="HumanEval+ v0.1.10",
    columns=("task_id", "prompt", "canonical_solution", "entry_point", "test"),
    settings=_SETTINGS,
    **_PLUS,
)
MBPP = Benchmark(
    partial(_tasks, _mbpp),
    release="MBPP+ v0.2.0",
    columns=("task_id", "prompt"),
    settings=_SETTINGS | {"generation.prompt.stop": ['\n"""', "\nassert"]},
    **_PLUS,
)
