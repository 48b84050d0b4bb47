"""Format titles and scores of runs as text, JSON and CSV; a ``Row`` of scores is a row of a METRICS table."""

import csv
import dataclasses
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.core.display_text import ELLIPSIS
from bigcodeflow.core.table import Column
from bigcodeflow.core.tracebacks import exception_line
from bigcodeflow.results.models import Row

_BETWEEN = " · "
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_OWNER_NAME_REVISION = 3

#: Metrics that need several samples per task, in display order, each with its display name.
_SEVERAL_SAMPLES = {
    "avg@n": "avg@N",
    "bayes@n": "Bayes@N, credible interval",
    "pass^k": "pass^{k}",
    "g_pass@k_0.5": "G-Pass@{k}, τ 0.5",
    "g_pass@k_0.75": "G-Pass@{k}, τ 0.75",
    "mg_pass@k": "mG-Pass@{k}",
}


#: Label in boards and titles of runs whose tasks show tests that contradict their descriptions.
CONTRADICTED_TESTS = "contradicted tests"
#: Label in boards and titles of runs on variants of tasks.
TASK_VARIANTS = "variants of tasks"


class Model(NamedTuple):
    """A model's name and revision; ``revision`` is None for 'main', or if no revision is given."""

    name: str
    revision: str | None

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}" if self.revision else self.name


def named_model(text: str) -> Model:
    """Parse a model from its file name form ORGANISATION--NAME--REVISION; organisation and revision are optional."""
    parts = text.split("--")
    revised = len(parts) > 1 and (
        len(parts) >= _OWNER_NAME_REVISION or parts[-1] == "main" or _COMMIT.fullmatch(parts[-1]) is not None
    )
    if not revised:
        return Model("/".join(parts), None)
    return Model("/".join(parts[:-1]), None if parts[-1] == "main" else parts[-1])


def board_title(subset: str, split: str, *details: str, benchmark: str = "") -> str:
    """Return a board's title: the non-empty texts of benchmark, subset, split and details, as in 'hard · instruct'.

    A board is a set of runs whose scores can be ranked together.
    """
    return _BETWEEN.join(filter(None, (benchmark, subset, split, *details)))


def title_of(model: str, subset: str, split: str, *details: str, benchmark: str = "") -> str:
    """Return the title of a run, such as 'gpt-4o · hard · instruct', followed by the non-empty ``details``.

    A control's name from a sweep, such as oracle-instruct-hard, is shortened to oracle.
    """
    name, _, setting = model.partition(f"-{split}-{subset}")
    own = name if name and setting[:1] in ("", "-", "+") else model
    rest = setting.lstrip("-+") if own == name else ""
    board = board_title(subset, split, benchmark=benchmark)
    title = _BETWEEN.join(filter(None, (str(named_model(own)), board, rest, *details)))
    # Imported result files choose the model's name: remove control sequences for the terminal.
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in title)


def disambiguated(titles: Sequence[str], details: Sequence[Sequence[str]]) -> list[str]:
    """Make titles unique: append details to titles that several runs share, until the titles differ.

    ``details`` holds the kinds of detail, the most important first, each with one text per run.
    """
    found = list(titles)
    for texts in details:
        shared: dict[str, list[int]] = {}
        for place, title in enumerate(found):
            shared.setdefault(title, []).append(place)
        for places in shared.values():
            if len({texts[place] for place in places}) > 1:
                for place in places:
                    found[place] = _BETWEEN.join(filter(None, (found[place], texts[place])))
    return found


def without_board(title: str, board: str) -> str:
    """Return a run's title without its board (subset and split), for places where a heading already shows it."""
    return title.replace(f"{_BETWEEN}{board}", "", 1)


def fits(wanted: str, text: str) -> bool:
    """Tell if ``text`` equals ``wanted``; an ellipsis in ``wanted``, as in names that tables shorten, fits any text."""
    head, cut, tail = wanted.partition(ELLIPSIS)
    if not cut or not head or not tail:
        return wanted == text
    return len(text) > len(wanted) - len(cut) and text.startswith(head) and text.endswith(tail)


def plain(value: Any) -> Any:
    """Convert a value to JSON types: records become objects by field name; NaN and infinity become None."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any) -> str:
    """Return the value as JSON in ASCII, so that a terminal sees no control sequences from model texts."""
    return json.dumps(plain(value), indent=2, allow_nan=False)


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return CSV with headings and a line per row; None becomes an empty cell, keys not in ``columns`` are left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def cause_line(trace: str) -> str:
    """Return a traceback's exception line, else the first unindented line of ``trace``; return '' if there is none."""
    lines = (line for line in trace.splitlines() if line.strip() and not line[0].isspace())
    return exception_line(trace) or next((line for line in lines if not line.startswith("Traceback (")), "")


def numbers(*headings: str) -> list[Column]:
    """Return a right-aligned table column for each heading."""
    return [Column(heading, "right") for heading in headings]


def overall(rows: Sequence[Row], metric: str) -> Iterator[Row]:
    """Return the rows of ``metric`` over all tasks, without rows of slices such as domains."""
    return (row for row in rows if row["slice_kind"] == "all" and row["metric"] == metric)


def without_equal_raw(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows; for each sanitizer, leave out variant raw if all its metrics equal those of calibrated."""
    found: dict[tuple[str, str], dict[tuple[Any, ...], str]] = {}
    for row in rows:
        metric = (row["metric"], row["k"], row["slice_kind"], row["slice"])
        found.setdefault((row["sanitizer"], row["variant"]), {})[metric] = str(row["value"])  # NaN differs from itself
    equal = {name for name, kind in found if kind == "raw" and found[name, kind] == found.get((name, "calibrated"))}
    return [row for row in rows if row["variant"] != "raw" or row["sanitizer"] not in equal]


def scores_of(rows: Sequence[Row]) -> list[tuple[str, Row, Row | None]]:
    """Return (name, row, row over judgeable tasks or None) of each pass@k and pass@k:NAME score over all tasks."""
    judgeable = {("pass@k", *identity(row)): row for row in overall(rows, "pass@k_judgeable")}
    parts = [row for row in rows if row["slice_kind"] == "all" and row["metric"].startswith("pass@k:")]
    return [
        (row["metric"].replace("@k", f"@{row['k']}", 1), row, judgeable.get((row["metric"], *identity(row))))
        for row in (*overall(rows, "pass@k"), *parts)
    ]


def kind_of(row: Row) -> str:
    """Return the row's variant and sanitizer as one text."""
    return f"{row['variant']}, {row['sanitizer']}"


def identity(row: Row) -> tuple[str, int]:
    """Return the identity of a score: variant and sanitizer as one text, and k."""
    return kind_of(row), row["k"]


def several_samples(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """Yield display name and row of each score over all tasks that needs several samples per task, such as pass^k."""
    for metric, name in _SEVERAL_SAMPLES.items():
        for row in overall(rows, metric):
            yield name.format(k=row["k"]), row


def score_of(row: Row | None) -> str:
    """Return a score in percent and its number of tasks, such as '41.2 % of 148'; empty if ``row`` is None."""
    return f"{percent(row['value'])} of {row['n_tasks']:,}" if row else ""


def interval(row: Row) -> str:
    """Return both ends of a row's 95 % interval in percent; empty if the row has no interval."""
    return percent_range((row["ci_low"], row["ci_high"]))


def percent_range(ends: tuple[float | None, float | None] | None) -> str:
    """Return both ends of an interval of shares in percent; empty if an end is not known."""
    low, high = ends or (None, None)
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def percent(share: float) -> str:
    """Return a share in percent; 'none judged' for NaN."""
    return "none judged" if math.isnan(share) else f"{100 * share:.1f} %"


def notes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield notes that a reader needs with the scores: about quarantined tasks and about reruns."""
    for metric, counted in (("excluded_task_count", "left out of"), ("quarantined_task_count", "part of")):
        for row in overall(rows, metric):
            tasks = f"{row['value']:,.0f} of {row['n_tasks']:,} tasks {'is' if row['value'] == 1 else 'are'}"
            scores = f"{counted} every score ({kind_of(row)}){_other_score(rows, row)}"
            yield f"Quarantine: {tasks} not reliable here and {scores}."
    for row in overall(rows, "flaky_count"):
        again = next(other["value"] for other in overall(rows, "rerun_count") if kind_of(other) == kind_of(row))
        yield (
            f"Reruns: {again:,.0f} of {row['n_samples']:,} samples ({kind_of(row)}) were executed more than once; "
            f"{row['value']:,.0f} of them came out differently and count as flaky."
        )


def unjudged_notes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each variant and sanitizer that has samples which were not judged."""
    for row in overall(rows, "infra_error_count"):
        if row["value"]:
            yield (
                f"{row['value']:,.0f} of {row['n_samples']:,} samples ({kind_of(row)}) were not judged for reasons "
                "outside the samples; the score is provisional: run again to judge them."
            )


def ground_truths(rows: Sequence[Row]) -> str:
    """Return text with the number of ground truths that pass and of flaky ground truths; empty if not known."""
    rate = next(overall(rows, "ground_truth_rate"), None)
    if rate is None or math.isnan(rate["value"]):
        return ""
    flaky = next(overall(rows, "ground_truth_flaky_count"), None)
    found = f"{round(rate['value'] * rate['n_tasks']):,} of {rate['n_tasks']:,} pass ({percent(rate['value'])})"
    return found + (f", {flaky['value']:,.0f} of them not in every execution" if flaky else "")


def _other_score(rows: Sequence[Row], row: Row) -> str:
    """Return text about the second pass@k: without quarantined tasks, or with these if other scores lack them."""
    for metric, word in (("pass@k_unquarantined", "without"), ("pass@k_with_quarantined", "with")):
        scores = [other for other in overall(rows, metric) if kind_of(other) == kind_of(row)]
        if scores:
            texts = (f"pass@{score['k']} {score_of(score)}" for score in scores)
            return f"; {word} them: {', '.join(texts)}"
    return ""
