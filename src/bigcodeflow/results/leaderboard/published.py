"""The figures that BigCodeBench's own leaderboard shows, as entries."""

import csv
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

from pydantic import ValidationError

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.paths import shipped
from bigcodeflow.results.leaderboard.benchmark import BOARDS, N_TASKS
from bigcodeflow.results.leaderboard.entries import Entry

SOURCE = "BigCodeBench leaderboard, bigcode-bench.github.io"
_TABLE = "data/leaderboard/published_pass_at_1.csv"
_COLUMNS = ("model", *(f"{subset}_{split}" for subset, split in BOARDS), "size_b", "date")


def published_entries(table: Path | None = None) -> list[Entry]:
    """One entry a figure of the shipped table; a figure that it lacks makes no entry.

    Args:
        table: another CSV with the same columns, see data/leaderboard/README.md.

    Raises:
        ArtifactError: the table is missing or a line of it is wrong.
    """
    path = table or shipped(_TABLE)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file, strict=True)
            if tuple(rows.fieldnames or ()) != _COLUMNS:
                raise ArtifactError(f"{path}: its first line must be {','.join(_COLUMNS)}: take the shipped table")
            return [entry for row in rows for entry in _entries(row, f"{path}, line {rows.line_num}")]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArtifactError(f"{path}: cannot be read ({error}): reinstall bigcodeflow") from None


def _entries(row: Mapping[str, str | None], place: str) -> Iterator[Entry]:
    if None in row or None in row.values():
        raise ArtifactError(f"{place}: has not {len(_COLUMNS)} cells: quote names that hold a comma")
    for subset, split in BOARDS:
        column = f"{subset}_{split}"
        if not row[column]:
            continue
        try:
            size_b = float(row["size_b"]) if row["size_b"] else None
            # In decimal: 58.1 / 100 in binary is 0.5810000000000001.
            share = float(Decimal(row[column] or "") / 100)
            yield Entry(
                origin="published", model=row["model"] or "", revision=None, setting="", setting_key="", split=split,
                subset=subset, pass_at_1=share, ci_low=None, ci_high=None, n_tasks=N_TASKS[subset], n_samples=None,
                ground_truth_rate=None, sanitizer=None, environment=None, environment_sha=None, evaluated_at=None,
                model_date=row["date"] or None, size_b=size_b, remarks=(), source=SOURCE, run=None,
            )  # fmt: skip
        except (InvalidOperation, ValueError, ValidationError):
            raise ArtifactError(f"{place}: {column} or size_b is no number that it can be: correct it") from None
