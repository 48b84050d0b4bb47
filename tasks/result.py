"""What a finished run shows in the Prefect UI: its scores as a table, and the whole result as one page."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from bigcodeflow.artifacts import Store
from bigcodeflow.config import RunConfig
from bigcodeflow.outputs import Outputs, model_name
from bigcodeflow.results import GroundTruthFailure, ground_truth_failures
from bigcodeflow.results.wording import identity, interval, overall, percent, score_of
from bigcodeflow.stages import RunArtifacts

_MOST_TASKS_NAMED = 50

Row = dict[str, Any]


def run_title(config: RunConfig) -> str:
    """What people call the run: the model or the run's own name, split and subset."""
    name = model_name(config) if config.name == "run" else config.name
    return f"{name}, {config.dataset.split}, {config.dataset.subset}"


def show_result(config: RunConfig, artifacts: RunArtifacts, outputs: Outputs) -> None:
    """Attach the scores to the flow run: artifact 'scores' is the table, 'result' the page.

    Raises:
        ArtifactError: an artifact of the run is gone.
    """
    store = Store(config.store)
    metrics = store.read(artifacts.aggregation)
    failures = ground_truth_failures(store.path(artifacts.ground_truth))
    create_table_artifact(score_rows(metrics), key="scores", description=f"Scores of {run_title(config)}")
    page = result_page(run_title(config), metrics, failures, outputs)
    create_markdown_artifact(page, key="result", description=f"Result of {run_title(config)}")


def score_rows(metrics: pa.Table) -> list[dict[str, str]]:
    """One row a variant, sanitizer and k over all tasks: the score beside its 95 % interval.

    Args:
        metrics: a table in METRICS schema.
    """
    rows = metrics.to_pylist()
    judgeable = {identity(row): row for row in overall(rows, "pass@k_judgeable")}
    return [
        {
            "variant": row["variant"],
            "sanitizer": row["sanitizer"],
            "score": f"pass@{row['k']}",
            "value": percent(row["value"]),
            "95 % interval": interval(row),
            "judgeable tasks only": score_of(judgeable.get(identity(row))),
            "tasks": f"{row['n_tasks']:,}",
            "samples": f"{row['n_samples']:,}",
        }
        for row in overall(rows, "pass@k")
    ]


def result_page(title: str, metrics: pa.Table, failures: Sequence[GroundTruthFailure], outputs: Outputs) -> str:
    """The result as Markdown: scores, ground truths, what was not judged, and where the files lie.

    Args:
        title: the run's title.
        metrics: a table in METRICS schema.
        failures: tasks whose ground truth does not pass.
        outputs: the run's result files.
    """
    rows = metrics.to_pylist()
    parts = [
        f"# {title}",
        _table(score_rows(metrics)) or "No pass@k: every requested k is larger than the number of samples of a task.",
        *_not_judged(rows),
        *_ground_truths(rows, failures),
        "## Files\n\n" + "\n".join(f"- `{path.absolute()}`" for path in (*outputs.files, outputs.catalog)),
    ]
    return "\n\n".join(parts) + "\n"


def _ground_truths(rows: Sequence[Row], failures: Sequence[GroundTruthFailure]) -> Iterator[str]:
    for row in overall(rows, "ground_truth_rate"):
        passed = 0 if math.isnan(row["value"]) else round(row["value"] * row["n_tasks"])
        yield "## Ground truths"
        yield f"{passed:,} of {row['n_tasks']:,} pass ({percent(row['value'])})."
    if failures:
        named = [
            f"- {failure.task_id}: {failure.failure_kind or failure.status}".replace("_", " ")
            for failure in failures[:_MOST_TASKS_NAMED]
        ]
        rest = len(failures) - len(named)
        yield "Tasks that cannot be judged here, left out of the column *judgeable tasks only*:"
        yield "\n".join([*named, *([f"- and {rest:,} more"] if rest else [])])


def _not_judged(rows: Sequence[Row]) -> Iterator[str]:
    for row in overall(rows, "infra_error_count"):
        if row["value"]:
            yield (
                f"**Provisional:** {row['value']:,.0f} of {row['n_samples']:,} samples ({row['variant']}, "
                f"{row['sanitizer']}) were not judged for reasons outside them. Run again to judge these alone."
            )


def _table(rows: Sequence[dict[str, str]]) -> str:
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
