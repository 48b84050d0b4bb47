"""Artifacts of a finished run in the Prefect UI: scores and failures as tables, its result and studies as pages."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from bigcodeflow.core.table import Table
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.recording import FinishedRun, Outputs
from bigcodeflow.results import GroundTruthFailure, formatting, ground_truth_failures
from bigcodeflow.results.formatting import interval, overall, percent
from bigcodeflow.results.verified import verified_scores, verified_table
from bigcodeflow.store import ArtifactRef, Store
from bigcodeflow.studies import installed_studies
from tasks.progress import artifact_key, explorer_link, linked, run_path

_MOST_TASKS_NAMED = 50
_MOST_LIBRARIES = 10
#: Most rows of one table of a study; an artifact of Prefect may hold 512 KB.
_MOST_ROWS = 200
_KIND = ("variant", "sanitizer")

Row = dict[str, Any]


def show_result(run: FinishedRun) -> None:
    """Attach tables of scores, failures and rounds, and the result page, to the flow run.

    Each artifact's key ends in the name of the run's record, because Prefect shows only the latest artifact of a key.
    """
    config, store, artifacts, outputs = run
    title = run_title(config, outputs.selection)
    metrics = store.read(artifacts.aggregation)
    scored = f"{headline(metrics)} · {title}"
    unjudgeable = ground_truth_failures(store.path(artifacts.ground_truth))
    failures = failure_rows(store.read(artifacts.execution, ["variant", "sanitizer", "status", "failure_kind"]))
    link, path = explorer_link(config.store, run_path(outputs.record)), run_path(outputs.record)

    def key(name: str) -> str:
        return artifact_key(name, outputs.record)

    described = linked(scored, config.store, path)
    if link:
        create_link_artifact(link, "Open this run in the explorer", key=key("explorer"), description=described)
    create_table_artifact(score_rows(metrics), key=key("scores"), description=described)
    if failures:
        reasons = linked(f"Why samples of {title} did not pass", config.store, path)
        create_table_artifact(failures, key=key("failures"), description=reasons)
    page = result_page(metrics, unjudgeable, outputs, failures=failures, explorer=link)
    verified = verified_table(verified_scores(store.path(artifacts.dataset), store.path(artifacts.execution)))
    page += f"\n{verified.to_markdown(level=2)}\n" if verified.rows else ""
    create_markdown_artifact(page, key=key("result"), description=described)
    if outputs.rounds:
        show_study(store, outputs.rounds, title)
    for row in score_rows(metrics):
        interval_text = row["95 % interval"] and f"95 % interval {row['95 % interval']}"
        texts = (row["variant"], row["sanitizer"], row["score"], row["value"], interval_text)
        get_run_logger().info("%s: %s", title, ", ".join(filter(None, texts)))
    if outputs.report:
        get_run_logger().info("%s: report %s", title, outputs.report)
    if link:
        get_run_logger().info("%s: explorer %s", title, link)


def show_study(store: Store, ref: ArtifactRef, title: str) -> None:
    """Attach a page with the tables of a study's result to the flow run."""
    study = installed_studies()[ref.stage]
    parts = [f"# {study.title}: {title}", study.description]
    for table in study.tables(store.read(ref)):
        notes = [*table.notes]
        if len(table.rows) > _MOST_ROWS:
            notes.append(f"The first {_MOST_ROWS} of {len(table.rows):,} rows; the catalog's view {ref.stage} has all.")
        parts.append(Table(table.columns, table.rows[:_MOST_ROWS], table.title, notes).to_markdown(level=2))
    described = linked(f"{study.title}: {title}", store.location, f"/studies/{ref.stage}/{ref.key}")
    create_markdown_artifact("\n\n".join(parts) + "\n", key=artifact_key(ref.stage, title), description=described)


def headline(metrics: pa.Table) -> str:
    """Return the first score with its interval, such as '10.1 % (6.1 to 16.2) pass@1', or 'not scored'."""
    row = next(overall(metrics.to_pylist(), "pass@k"), None)
    if row is None:
        return "not scored"
    limits = f" ({interval(row)})" if interval(row) else ""
    return f"{percent(row['value'])}{limits} pass@{row['k']}"


def score_rows(metrics: pa.Table) -> list[dict[str, str]]:
    """Return a table row for each score over all tasks in ``metrics``, such as pass@1, with its 95 % interval."""
    return [
        {
            **_scored(row, name, percent(row["value"])),
            "judgeable tasks only": formatting.score_of(judgeable),
            "tasks": f"{row['n_tasks']:,}",
            "samples": f"{row['n_samples']:,}",
        }
        for name, row, judgeable in formatting.scores_of(metrics.to_pylist())
    ]


def failure_rows(verdicts: pa.Table) -> list[dict[str, str]]:
    """Return a row per variant, sanitizer, status and failure kind of the failed verdicts, with the number of samples.

    Rows of a variant and sanitizer are sorted by this number; ``share`` is its share of all their verdicts.
    """
    columns = ["variant", "sanitizer", "status", "failure_kind"]
    counts = verdicts.group_by(columns).aggregate([([], "count_all")]).to_pylist()
    totals = Counter[tuple[str, ...]]()
    for row in counts:
        totals[tuple(_kind(row).values())] += row["count_all"]
    failed = [row for row in counts if row["status"] != "pass"]
    failed.sort(key=lambda row: (*_kind(row).values(), -row["count_all"], row["status"], row["failure_kind"]))
    return [
        {
            **_kind(row),
            "status": row["status"].replace("_", " "),
            "cause": row["failure_kind"].replace("_", " "),
            "samples": f"{row['count_all']:,}",
            "share": percent(row["count_all"] / totals[tuple(_kind(row).values())]),
        }
        for row in failed
    ]


def library_rows(metrics: Sequence[Row]) -> list[dict[str, str]]:
    """Return a table row for each of the few libraries that lower pass@k most; k is the smallest k in ``metrics``.

    Rows of a variant and sanitizer are sorted by tasks times (1 - pass@k). A task counts for each of its libraries.
    """
    of_libraries = (row for row in metrics if row["slice_kind"] == "library" and row["metric"] == "pass@k")
    scores = [row for row in of_libraries if not math.isnan(row["value"])]
    smallest = min((row["k"] for row in scores), default=0)
    scores = [row for row in scores if row["k"] == smallest and row["value"] < 1]
    scores.sort(key=lambda row: (*_kind(row).values(), -row["n_tasks"] * (1 - row["value"]), row["slice"]))
    return [
        {
            **_kind(row),
            "library": row["slice"],
            "tasks": f"{row['n_tasks']:,}",
            f"pass@{smallest}": percent(row["value"]),
        }
        for _, group in itertools.groupby(scores, key=_kind)
        for row in itertools.islice(group, _MOST_LIBRARIES)
    ]


def result_page(
    metrics: pa.Table,
    unjudgeable: Sequence[GroundTruthFailure],
    outputs: Outputs,
    *,
    failures: Sequence[dict[str, str]] = (),
    explorer: str = "",
) -> str:
    """Return the result as Markdown: scores, unjudged samples, failures, ground truths, paths of report and files.

    ``failures`` are rows of :func:`failure_rows`; ``explorer`` is the address of the run's page in the explorer.
    """
    rows, scores = metrics.to_pylist(), score_rows(metrics)
    several = [(name, percent(row["value"]), row) for name, row in formatting.several_samples(rows)]
    sections = [
        ("Several samples a task", [_scored(row, name, value) for name, value, row in several]),
        ("Why samples did not pass", failures),
        ("Libraries that cost most", library_rows(rows)),
    ]
    # The artifact's description shows the title; a single variant and sanitizer are named in one sentence.
    kinds = {tuple(map(row.get, _KIND)) for found in (scores, *(found for _, found in sections)) for row in found}
    common = dict(zip(_KIND, next(iter(kinds)), strict=True)) if len(kinds) == 1 else {}
    table = partial(_table, common)
    opened = "all samples, with comparisons, search and trends"
    parts = [f"[Open in the explorer]({explorer}): {opened}."] if explorer else []
    parts += [table(scores) or "No pass@k: every requested k is larger than the number of samples of a task."]
    if common:
        parts.append("; ".join(f"{name} {value}" for name, value in common.items()) + ".")
    parts += [f"**Provisional:** {note}" for note in formatting.unjudged_notes(rows)]
    parts += formatting.notes(rows)
    parts += [f"## {heading}\n\n{table(found)}" for heading, found in sections if found]
    if truths := formatting.ground_truths(rows):
        parts.append(f"## Ground truths\n\n{truths}.")
    if unjudgeable:
        lines = [
            f"- {failure.task_id}: {failure.failure_kind or failure.status}".replace("_", " ")
            for failure in unjudgeable[:_MOST_TASKS_NAMED]
        ]
        lines += [f"- and {rest:,} more"] if (rest := len(unjudgeable) - len(lines)) else []
        parts += ["Tasks that cannot be judged here, left out of the column *judgeable tasks only*:", "\n".join(lines)]
    if outputs.report:
        parts.append(
            f"## Report\n\nEvery sample with its tests and tracebacks: open `{outputs.report}` in a browser. "
            f"In a terminal: `bigcodeflow inspect {outputs.record}`."
        )
    parts.append("## Files\n\n" + "\n".join(_file_lines((*outputs.files, outputs.catalog))))
    return "\n\n".join(parts) + "\n"


def _table(common: Row, records: Sequence[Row]) -> str:
    """Return records as a Markdown table, without the columns in ``common``."""
    own = [{name: value for name, value in record.items() if name not in common} for record in records]
    return Table.of_records(own).to_markdown()


def _file_lines(files: Sequence[Path]) -> Iterator[str]:
    """Yield a Markdown line for each folder, with the names of its files."""
    for folder, found in itertools.groupby(files, key=lambda path: path.absolute().parent):
        yield f"- `{folder}`: {', '.join(f'`{path.name}`' for path in found)}"


def _scored(row: Row, score: str, value: str) -> dict[str, str]:
    return {**_kind(row), "score": score, "value": value, "95 % interval": interval(row)}


def _kind(row: Row) -> dict[str, str]:
    return {name: row[name] for name in _KIND}
