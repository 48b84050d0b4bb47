"""Tables of the study: how many and which tasks the corpus contains, and matching passages side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from bigcodeflow.core.display_text import elided
from bigcodeflow.core.table import Cell, Column, Headings, Table
from bigcodeflow.results.formatting import numbers

_PASSAGE_CHARACTERS = 400
_MOST_SHOWN = 50
#: Least similarity to report; less similar places share only some phrases with a task.
_ALIKE = 0.5
_Row = Mapping[str, Any]


def tables(rows: pa.Table) -> list[Table]:
    """Return three tables: a summary, the tasks with matches, and the matching passages."""
    found = rows.to_pylist()
    matched = [row for row in found if row["longest_match"] or row["fuzzy_score"] >= _ALIKE]
    matched.sort(key=lambda row: (-max(row["ngram_share"], row["fuzzy_score"]), row["task_id"]))
    return [_summary(found), _task_table(matched), _passages(matched)]


def _summary(rows: Sequence[_Row]) -> Table:
    counts = {
        "tasks": len(rows),
        "contaminated: n-grams or similarity reach a threshold": sum(row["contaminated"] for row in rows),
        "with an n-gram that the corpus holds": sum(row["longest_match"] > 0 for row in rows),
        f"with a place that is alike by {_ALIKE} or more": sum(row["fuzzy_score"] >= _ALIKE for row in rows),
    }
    cells = [(name, count, count / len(rows) if rows else None) for name, count in counts.items()]
    share = Column("share", "right", "{:.1%}".format)
    return Table.of(("", *numbers("tasks"), share), cells, title="Tasks in the corpus")


def _task_table(rows: Sequence[_Row]) -> Table:
    columns: Headings = (
        "task",
        *(Column(name, "right", "{:.0%}".format) for name in ("n-grams", "prompts", "solution", "test")),
        *numbers("longest, words"),
        Column("similarity", "right", "{:.2f}".format),
        "contaminated",
        "where",
    )
    names = ("task_id", "ngram_share", "prompt_share", "solution_share", "test_share", "longest_match", "fuzzy_score")
    cells = [
        (
            *(row[name] for name in names),
            Cell("yes", "bad") if row["contaminated"] else "",
            _where(row, "fuzzy") or _where(row, "longest"),
        )
        for row in rows
    ]
    return Table.of(columns, cells, title="Tasks of which the corpus holds something")


def _passages(rows: Sequence[_Row]) -> Table:
    cells, notes = [], []
    if len(rows) > _MOST_SHOWN:
        notes = [f"Of the first {_MOST_SHOWN} of {len(rows):,} tasks; the catalog's view contamination has all."]
    for row in rows[:_MOST_SHOWN]:
        whole = row["fuzzy_score"] == 1 and row["fuzzy_part"] == row["longest_part"]
        for prefix, kind in (("fuzzy", "most alike"), *(() if whole else (("longest", "longest passage"),))):
            if where := _where(row, prefix):
                texts = (row[f"{prefix}_task_text"], row[f"{prefix}_text"])
                shown = (elided(text, _PASSAGE_CHARACTERS) for text in texts)
                cells.append((row["task_id"], f"{kind}, {row[f'{prefix}_part']}", *shown, where))
    return Table.of(
        ("task", "match", "in the task", "in the corpus", "where"), cells, title="Passages side by side", notes=notes
    )


def _where(row: _Row, prefix: str) -> str:
    if not row[f"{prefix}_file"]:
        return ""
    return f"{row[f'{prefix}_file']}, record {row[f'{prefix}_record']}, character {row[f'{prefix}_offset']:,}"
