"""From a source's rows to rows of the tasks table: derived columns are filled in where the source has none."""

import ast
from collections.abc import Sequence
from typing import Any

from bigcodeflow.core.schemas import HUB_COLUMNS
from bigcodeflow.datasets.facts import domains_of, hard_task_ids
from bigcodeflow.datasets.source import SourceRow
from bigcodeflow.datasets.test_ids import expected_test_ids

TEXT_COLUMNS = tuple(name for name in HUB_COLUMNS if name != "libs")


def task_rows(rows: Sequence[SourceRow]) -> list[dict[str, Any]]:
    """Rows of the TASKS schema in source order.

    Args:
        rows: rows that validation found nothing wrong with.
    """
    return [_task_row(position, row.values) for position, row in enumerate(rows)]


def read_libs(value: object) -> list[str]:
    """Library names from a list, or from the text of one as the hub stores it.

    Raises:
        ValueError: the value is neither, or holds something other than text.
    """
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value.strip())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError("not the text of a list") from None
    return text_list(value)


def text_list(value: object) -> list[str]:
    """The value, when it is a list of text.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("not a list of text")
    return value


def _task_row(position: int, values: dict[str, Any]) -> dict[str, Any]:
    libs = read_libs(values["libs"])
    own_domains, own_tests, own_hard = (values.get(name) for name in ("domains", "expected_tests", "hard"))
    return {
        **{name: values[name] for name in TEXT_COLUMNS},
        "position": position,
        "libs": libs,
        "domains": domains_of(libs) if own_domains is None else sorted(set(own_domains)),
        "hard": values["task_id"] in hard_task_ids() if own_hard is None else own_hard,
        "expected_tests": (expected_test_ids(values["test"]) or ()) if own_tests is None else sorted(set(own_tests)),
    }
