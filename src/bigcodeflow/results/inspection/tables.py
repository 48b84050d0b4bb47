"""Samples as JSON, CSV and Markdown, for other programs and for people."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bigcodeflow.core.display_text import csv_cell, markdown_text
from bigcodeflow.results.inspection.stories import Story
from bigcodeflow.results.inspection.wording import reason
from bigcodeflow.results.models import Row

_COLUMNS = (
    "task_id",
    "sample_index",
    "variant",
    "sanitizer",
    "status",
    "failure_kind",
    "flaky",
    "quarantined",
    "hard",
    "libs",
    "domains",
    "tests_expected",
    "failing_tests",
    "reason",
    "wall_seconds",
)
_MARKDOWN_COLUMNS = ("task_id", "sample_index", "variant", "status", "failure_kind", "failing_tests", "reason")


def reason_of(row: Row) -> str:
    """Why the sample of a row did not pass, in one line; empty for a pass."""
    return "" if row["status"] == "pass" else reason(row["first_trace"], row["exit"])


def samples_json(rows: Sequence[Row]) -> str:
    """One object a sample, with its texts as they are; what was not measured is null."""
    return _json([row | {"reason": reason_of(row)} for row in rows])


def samples_csv(rows: Sequence[Row]) -> str:
    """One line a sample below a line of headings; a list is one cell with semicolons, and no cell is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([csv_cell(_text(cell)) for cell in _cells(row, _COLUMNS)] for row in rows)
    return out.getvalue()


def samples_markdown(rows: Sequence[Row]) -> str:
    """A table with one row a sample."""
    lines = [[name.replace("_", " ") for name in _MARKDOWN_COLUMNS], ["---"] * len(_MARKDOWN_COLUMNS)]
    lines += [[markdown_text(_text(cell)) for cell in _cells(row, _MARKDOWN_COLUMNS)] for row in rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def stories_json(stories: Sequence[Story]) -> str:
    """One object a story, with its texts as they are."""
    return _json([asdict(story) | {"sanitizer_diff": story.sanitizer_diff} for story in stories])


def reruns_json(recorded: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """Both verdicts of one sample."""
    return _json({"recorded": recorded, "again": again})


def _cells(row: Row, columns: Sequence[str]) -> list[Any]:
    told = row | {"reason": reason_of(row)}
    return [told[name] for name in columns]


def _text(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "; ".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def _json(value: object) -> str:
    """ASCII throughout, so that no terminal obeys what a model wrote."""
    return json.dumps(_finite(value), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """The value with null for every NaN, which is no JSON."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
