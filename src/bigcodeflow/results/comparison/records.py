"""A comparison for other programs: JSON with everything, CSV with one row a pair, slice and k."""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from bigcodeflow.results.comparison.comparing import Comparison, Subject
from bigcodeflow.results.comparison.pairs import Pair
from bigcodeflow.results.comparison.sheets import verdict

_COLUMNS = (
    "slice_kind",
    "slice",
    "k",
    "first",
    "first_record",
    "second",
    "second_record",
    "split",
    "first_subset",
    "second_subset",
    "first_score",
    "second_score",
    "difference",
    "ci_low",
    "ci_high",
    "n_tasks",
    "n_left_out",
    "n_first_better",
    "n_second_better",
    "test",
    "p",
    "p_holm",
    "significant",
    "verdict",
)


def to_json(comparison: Comparison) -> str:
    """The whole comparison; shares in 0..1, what is not known is null."""
    subjects = _subjects(comparison)
    content = _plain(comparison)
    for name in ("pairs", "slices"):
        content[name] = [_pair(pair, subjects) for pair in getattr(comparison, name)]
    return json.dumps(content, indent=2)


def to_csv(comparison: Comparison) -> str:
    """One row a pair, slice and k, all tasks first; shares in 0..1, what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    subjects = _subjects(comparison)
    for pair in (*comparison.pairs, *comparison.slices):
        row = _pair(pair, subjects)
        writer.writerow({name: row[name] for name in _COLUMNS})
    return text.getvalue()


def _subjects(comparison: Comparison) -> Mapping[str, Subject]:
    return {subject.label: subject for subject in comparison.subjects}


def _pair(pair: Pair, subjects: Mapping[str, Subject]) -> dict[str, Any]:
    """The pair with the records, split and subsets of both."""
    first, second = subjects[pair.first], subjects[pair.second]
    fields = {field.name: _plain(getattr(pair, field.name)) for field in dataclasses.fields(pair)}
    ends = fields.pop("interval") or {"low": None, "high": None}
    significant = {"significant": pair.significant, "verdict": verdict(pair)}
    compared = {
        "first_record": first.record,
        "second_record": second.record,
        "split": first.split,
        "first_subset": first.subset,
        "second_subset": second.subset,
    }
    return {**fields, **compared, "ci_low": ends["low"], "ci_high": ends["high"], **significant}


def _plain(value: Any) -> Any:
    """What JSON knows; field names are kept of whatever has them."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Enum):
        return value.value
    return None if isinstance(value, float) and math.isnan(value) else value
