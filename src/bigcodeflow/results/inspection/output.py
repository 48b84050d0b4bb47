"""Output of inspected samples: in the terminal, as JSON, CSV and Markdown, and as a folder of files.

Texts of models are never interpreted as markup, control sequences, formulas or paths.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from bigcodeflow.core.display_text import csv_cell, markdown_block, markdown_text, one_line, visible
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.table import Cell, Column, Table, Tone
from bigcodeflow.results.exports import failure_details
from bigcodeflow.results.formatting import csv_text, json_text, numbers, plain
from bigcodeflow.results.inspection.samples import (
    DetailSection,
    Filters,
    InspectedRun,
    SampleDetail,
    measured,
    reason,
    sections,
)
from bigcodeflow.results.models import Row

_CSV_COLUMNS = (
    *("task_id", "sample_index", "variant", "sanitizer", "status", "failure_kind", "flaky", "quarantined", "hard"),
    *("libs", "domains", "tests_expected", "failing_tests", "reason", "wall_seconds"),
)
_MARKDOWN_COLUMNS = ("task_id", "sample_index", "variant", "status", "failure_kind", "failing_tests", "reason")
_TONES: Mapping[str, Tone] = {"pass": "good", "infra_error": "warning"}
#: Most characters of a highlighted text; a million would take 15 seconds.
_MOST_HIGHLIGHTED = 100_000
_UNSAFE = re.compile(r"[^\w.+-]")
_RULER = "=" * 50 + "\n"


def samples_table(rows: Sequence[Row]) -> Table:
    """Return a table with a row per sample; sample index and variant are shown only if they differ between samples."""
    differing = [name for name in ("sample_index", "variant") if len({row[name] for row in rows}) > 1]
    cells = [
        (
            row["task_id"],
            *([" ".join(str(row[name]) for name in differing if row[name] != "calibrated")] if differing else []),
            Cell((row["failure_kind"] or row["status"]).replace("_", " "), _TONES.get(row["status"], "bad")),
            f"{len(row['failing_tests'])}/{row['tests_expected']}" if row["failing_tests"] else "",
            _reason_of(row),
        )
        for row in rows
    ]
    names = ("task", *(["sample"] if differing else []), "outcome", "failed")
    return Table.of((*(Column(name, wrap="never") for name in names), Column("reason", wrap="elide")), cells)


def outcomes_table(rows: Sequence[Row]) -> Table:
    """Return a table that counts samples by outcome, the most frequent first, with up to three task ids each."""
    tasks: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        tasks.setdefault((row["failure_kind"] or row["status"], row["status"]), []).append(row["task_id"])
    cells = [
        (
            Cell(kind.replace("_", " "), _TONES.get(status, "bad")),
            len(ids),
            ", ".join(first) + ", …" * (len(ids) > len(first)),
        )
        for (kind, status), ids in sorted(tasks.items(), key=lambda item: -len(item[1]))
        if (first := list(dict.fromkeys(ids))[:3])
    ]
    return Table.of((Column("outcome", wrap="never"), *numbers("samples"), "tasks"), cells)


def without_repeats(rows: Sequence[Row]) -> list[Row]:
    """Return the rows; leave out a raw sample if its calibrated variant has the same status and failure kind."""
    calibrated = {_outcome_of(row) for row in rows if row["variant"] == "calibrated"}
    return [row for row in rows if row["variant"] == "calibrated" or _outcome_of(row) not in calibrated]


def _outcome_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("task_id", "sample_index", "sanitizer", "status", "failure_kind"))


def samples_json(rows: Sequence[Row]) -> str:
    """Return a JSON list with one object per sample; texts are unchanged, values that were not measured are null."""
    return json_text([row | {"reason": _reason_of(row)} for row in rows]) + "\n"


def samples_csv(rows: Sequence[Row]) -> str:
    """Return CSV with headings and one line per sample; lists are joined by semicolons, no cell acts as a formula."""
    cells = (map(csv_cell, _texts(row, _CSV_COLUMNS)) for row in rows)
    return csv_text(_CSV_COLUMNS, (dict(zip(_CSV_COLUMNS, row, strict=True)) for row in cells))


def samples_markdown(rows: Sequence[Row]) -> str:
    """Return a Markdown table with one row per sample."""
    headings = [name.replace("_", " ") for name in _MARKDOWN_COLUMNS]
    return Table.of(headings, [_texts(row, _MARKDOWN_COLUMNS) for row in rows]).to_markdown() + "\n"


def details_json(details: Sequence[SampleDetail]) -> str:
    """Return a JSON list with one object per sample detail; texts are unchanged."""
    rows = [plain(detail) | {"sanitizer_diff": detail.sanitizer_diff} for detail in details]
    return json_text([{name: value for name, value in row.items() if name != "row"} for row in rows]) + "\n"


def detail_markdown(detail: SampleDetail) -> str:
    """Return a sample's detail as Markdown; texts of models and tasks cannot leave their fenced blocks."""
    parts = [f"# {markdown_text(detail.title)}"]
    for section in sections(detail):
        language = "" if section.form == "text" else section.form
        sentence = section.form == "sentence"
        body = markdown_text(section.text) if sentence else markdown_block(section.text, language)
        parts.append(f"## {markdown_text(section.title)}\n\n{body}")
    return "\n\n".join(parts) + "\n"


def render_detail(detail: SampleDetail) -> RenderableType:
    """Render a sample for the terminal, with a heading for each section."""
    return Group(*(part for section in sections(detail) for part in _rendered(detail, section)))


def reruns_json(recorded: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """Return a sample's recorded verdict and the verdict of its new execution, ``again``, as JSON."""
    return json_text({"recorded": recorded, "again": again}) + "\n"


def render_reruns(detail: SampleDetail, recorded: Mapping[str, Any], again: Mapping[str, Any]) -> RenderableType:
    """Render a sample's recorded verdict and that of its new execution side by side, then the new traces."""
    facts: dict[str, Callable[[Any], str]] = dict.fromkeys(("status", "failure_kind", "exit", "backend"), str)
    facts |= dict.fromkeys(("wall_seconds", "cpu_seconds", "max_rss_mib"), _number)
    rows: list[tuple[Any, ...]] = [
        (name.replace("_", " "), shown(recorded[name]), shown(again[name])) for name, shown in facts.items()
    ]
    rows.append(("environment", recorded["environment_sha"][:12], again["environment_sha"][:12]))
    before, after = ({test["name"]: test["outcome"] for test in one["tests"] or ()} for one in (recorded, again))
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name, ""), after.get(name, "")
        rows.append((name, was, Cell(now, "" if was == now else "warning")))
    parts: list[RenderableType] = [Table.of(("", "recorded", "executed again"), rows, title=detail.title)]
    traces = [("the module itself", again["module_trace"])]
    traces += [(test["name"], test["trace"]) for test in again["tests"] or ()]
    for name, trace in traces:
        if trace:
            parts += [_rule(f"executed again: {name}: {reason(trace, '')}"), Text(visible(trace).rstrip("\n"))]
    return Group(*parts)


def export_folder(found: InspectedRun, rows: Sequence[Row], folder: Path) -> int:
    """Write the run's samples in the original's layout and as lists in three formats; return the number of tasks.

    Layout: ``{task_id}/ground_truth.py``, ``test_case.py``, and for each sample ``completion_{i}.py`` and
    ``complete_{i}_execution_trace.txt``. As in the original, a task's folder has all samples of the task, also
    samples that ``rows`` lacks. If ``rows`` has several variants or sanitizers, each combination has its own folder
    above the tasks. Raises ConfigError if ``folder`` exists and is not an empty folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--export {folder}: exists and is not an empty folder: name a new folder")
    for name, to_text in (("json", samples_json), ("csv", samples_csv), ("md", samples_markdown)):
        write_atomically(folder / f"samples.{name}", to_text(rows).encode())
    kinds = {(row["variant"], row["sanitizer"]) for row in rows}
    tasks = list(dict.fromkeys(row["task_id"] for row in rows))
    for task_id in tasks:
        # The path must stay inside the folder, whatever ids the task file contains.
        parts = [_UNSAFE.sub("_", part) for part in task_id.split("/")]
        below = PurePosixPath(*(part if part.strip(".") else "_" for part in parts))
        every = found.samples(Filters(statuses=("all",), task=task_id))
        for detail in found.details(row for row in every if (row["variant"], row["sanitizer"]) in kinds):
            above = folder / f"{detail.variant}-{detail.sanitizer}" if len(kinds) > 1 else folder
            for name, text in _files(detail):
                write_atomically(above / below / name, text.encode("utf-8", "replace"))
    return len(tasks)


def _files(detail: SampleDetail) -> Iterator[tuple[str, str]]:
    yield "ground_truth.py", detail.ground_truth
    yield "test_case.py", detail.test
    if detail.program is not None:
        yield f"completion_{detail.sample_index}.py", detail.program
    traces = "".join(f"Test Case: {name}\n\n{text}{_RULER}" for name, text in failure_details(detail.verdict).items())
    yield f"complete_{detail.sample_index}_execution_trace.txt", traces


def _rendered(detail: SampleDetail, section: DetailSection) -> Iterator[RenderableType]:
    from rich.syntax import Syntax  # imports Pygments

    yield _rule(f"{detail.title}: {section.title}")
    text = visible(section.text).rstrip("\n")
    if section.form in ("python", "diff") and len(text) <= _MOST_HIGHLIGHTED:
        yield Syntax(
            text,
            section.form,
            background_color="default",
            line_numbers=bool(section.first_line),
            start_line=section.first_line or 1,
        )
    else:
        yield Text(text, style="bold" if section.form == "sentence" else "")


def _rule(title: str) -> Rule:
    return Rule(Text(one_line(title), overflow="ellipsis", no_wrap=True), align="left")


def _reason_of(row: Row) -> str:
    return "" if row["status"] == "pass" else reason(row["first_trace"], row["exit"])


def _texts(row: Row, columns: Sequence[str]) -> list[str]:
    found = row | {"reason": _reason_of(row)}
    return [_text(found[name]) for name in columns]


def _text(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "; ".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def _number(value: float | None) -> str:
    return f"{value:,.2f}" if value is not None and measured(value) else "not measured"
