"""Compute metrics from verdicts: SQL in ``sql/`` counts samples, :mod:`~bigcodeflow.results.statistics` estimates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.core.schemas import METRICS
from bigcodeflow.results import models
from bigcodeflow.results.models import Row
from bigcodeflow.results.statistics import (
    Estimate,
    bayes_at_n,
    estimate,
    g_pass_at_k,
    mg_pass_at_k,
    pass_hat_k,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Scores of a task as functions of its number of samples, its number of passed samples, and k. The thresholds are those
#: in the tables of Liu et al. 2024, except 1.0, which is pass^k.
_SCORES_OF_K: Mapping[str, Callable[[int, int, int], float]] = {
    "pass^k": pass_hat_k,
    "g_pass@k_0.5": partial(g_pass_at_k, threshold=0.5),
    "g_pass@k_0.75": partial(g_pass_at_k, threshold=0.75),
    "mg_pass@k": mg_pass_at_k,
}


class GroundTruthFailure(NamedTuple):
    """A task that cannot be judged in this environment, because its reference solution does not pass."""

    task_id: str
    status: str
    failure_kind: str


def aggregate(
    *,
    tasks: Path,
    verdicts: Path,
    ground_truth: Path | None,
    solutions: Path,
    split: str,
    subset: str,
    k: tuple[int, ...],
    quarantined: Sequence[str] = (),
    exclude_quarantined: bool = False,
    parts: Mapping[str, str] = MappingProxyType({}),
) -> pa.Table:
    """Compute the metrics of a run over the tasks in the table ``tasks``; ignore verdicts of other tasks.

    Columns: see METRICS. Metrics: ``pass@k`` over all tasks, ``pass@k_judgeable`` over the tasks whose ground truth
    passes, ``sample_count`` and ``sample_share`` of each status, failure kind and solution flag,
    ``infra_error_count`` (samples that were not judged and are in no score) and ``ground_truth_rate``. Scores for a
    value in ``k`` exist only if every task was given at least k samples. If every task was given several samples, the
    metrics ``avg@n``, ``bayes@n`` and, for each k above 1, ``pass^k``, ``g_pass@k_0.5``, ``g_pass@k_0.75`` and
    ``mg_pass@k`` are added, over the tasks of ``pass@k``. If samples were executed again, there are ``rerun_count`` and
    ``flaky_count``; if ground truths passed in only some of their executions, ``ground_truth_flaky_count``. If
    ``ground_truth`` is None, ``pass@k_judgeable`` and the metrics of ground truths are left out.

    If tasks are in ``quarantined``, there are ``quarantined_task_count``, and ``pass@k_unquarantined``: the score
    without these tasks. With ``exclude_quarantined``, there are ``excluded_task_count`` and ``pass@k_with_quarantined``
    instead: ``pass@k`` and ``pass@k_judgeable`` leave these tasks out, ``pass@k_with_quarantined`` counts them.

    ``parts`` maps NAME to a prefix: for ``pass@k:NAME``, only test methods with this prefix decide if a sample passes.

    Raises:
        ExecutionError: a sample has no verdict or several verdicts, or a task has no verdict of its ground truth.
        ArtifactError: a table cannot be read.
    """
    paths = {"tasks": tasks, "verdicts": verdicts, "solutions": solutions}
    truths = {"ground_truth": ground_truth} if ground_truth else {}
    with models.sources(**paths, **truths) as connection:
        if not truths:
            nothing = "SELECT task_id, NULL::VARCHAR AS status, NULL::BOOLEAN AS flaky FROM source_tasks"
            connection.execute(f"CREATE TEMP VIEW source_ground_truth AS {nothing}")
        _require_complete(connection, verdicts)
        connection.execute(
            "CREATE TEMP TABLE requested_k AS SELECT DISTINCT unnest($k::INTEGER[]) AS k", {"k": list(k)}
        )
        _create_quarantine(connection, quarantined, exclude=exclude_quarantined, judgeable=bool(truths), parts=parts)
        for model in ("task_slices", "task_counts", "task_scores"):  # later models read earlier ones
            connection.execute(f"CREATE TEMP TABLE {model} AS {models.sql_of(model)}")
        rows = [
            *(_ground_truth_rows(connection) if truths else ()),
            *(
                _score(row, row["metric"], estimate(row["scores"]), n_samples=row["n_samples"], k=row["k"])
                for row in models.rows_of(connection, "slice_scores")
            ),
            *(made for row in models.rows_of(connection, "slice_counts") for made in _several_sample_rows(row, k)),
            *(made for row in models.rows_of(connection, "outcomes") for made in _outcome_rows(row)),
            *_quarantine_rows(connection, exclude=exclude_quarantined),
        ]
    return pa.Table.from_pylist([{"split": split, "subset": subset, **row} for row in rows], schema=METRICS)


def ground_truth_failures(ground_truth: Path) -> list[GroundTruthFailure]:
    """Return the tasks whose ground truth does not pass, with status and failure kind, sorted by task number."""
    with models.sources(ground_truth=ground_truth) as connection:
        return [GroundTruthFailure(**row) for row in models.rows_of(connection, "ground_truth_failures")]


def _require_complete(connection: "DuckDBPyConnection", verdicts: Path) -> None:
    """Raise ExecutionError if a solution or verdict is missing or duplicated, as the scores would be silently wrong."""
    problems = models.rows_of(connection, "integrity")
    if not problems:
        return
    first = problems[0]
    where = "".join(
        f", {name} {first[name]}" for name in ("sample_index", "variant", "sanitizer") if first[name] is not None
    )
    more = f" (further problems: {len(problems) - 1:,})" if len(problems) > 1 else ""
    raise ExecutionError(
        f"{verdicts}: task {first['task_id']}{where} {first['problem']}{more}: "
        "run the execution stage again over the same tasks and solutions"
    )


def _create_quarantine(
    connection: "DuckDBPyConnection",
    task_ids: Sequence[str],
    *,
    exclude: bool,
    judgeable: bool,
    parts: Mapping[str, str],
) -> None:
    """Create the table ``quarantined_tasks``, and the table ``score_metrics`` with one row per score to compute.

    A row says which tasks count. With a ``prefix``, only test methods with this prefix decide if a sample passes.
    """
    connection.execute(
        "CREATE TEMP TABLE quarantined_tasks AS SELECT DISTINCT unnest($ids::VARCHAR[]) AS task_id",
        {"ids": list(task_ids)},
    )
    metrics = [("pass@k", False, exclude, "")]
    metrics += [(f"pass@k:{name}", False, exclude, prefix) for name, prefix in parts.items()]
    if judgeable:
        metrics.append(("pass@k_judgeable", True, exclude, ""))
    if task_ids:
        other = ("pass@k_with_quarantined", False, False) if exclude else ("pass@k_unquarantined", False, True)
        metrics.append((*other, ""))
    columns = "metric VARCHAR, judgeable_only BOOLEAN, unquarantined_only BOOLEAN, prefix VARCHAR"
    connection.execute(f"CREATE TEMP TABLE score_metrics ({columns})")
    connection.executemany("INSERT INTO score_metrics VALUES (?, ?, ?, ?)", metrics)


def _quarantine_rows(connection: "DuckDBPyConnection", *, exclude: bool) -> list[Row]:
    metric = "excluded_task_count" if exclude else "quarantined_task_count"
    rows = models.rows_of(connection, "quarantine_counts")
    return [_count(row, metric, row["n_quarantined"]) for row in rows if row["n_quarantined"]]


def _ground_truth_rows(connection: "DuckDBPyConnection") -> list[Row]:
    [counts] = models.rows_of(connection, "ground_truths")
    failed = counts["n_tasks"] - counts["n_passed"]
    rate = estimate([1.0] * counts["n_passed"] + [0.0] * failed)
    row: Row = {"variant": "calibrated", "sanitizer": "none", "slice_kind": "all", "slice": "all"}
    row |= {"n_tasks": rate.n_tasks, "n_samples": rate.n_tasks}
    rows = [_score(row, "ground_truth_rate", rate, n_samples=rate.n_tasks)]
    if counts["n_flaky"]:
        rows.append(_count(row, "ground_truth_flaky_count", counts["n_flaky"]))
    return rows


def _several_sample_rows(row: Row, wanted: Sequence[int]) -> Iterator[Row]:
    """Yield a slice's scores over several samples per task: avg@n, and pass^k etc. for each usable k above 1."""
    tasks = list(zip(row["judged"], row["passed"], strict=True))
    n_samples = sum(row["judged"])
    shares = [passed / judged for judged, passed in tasks]
    yield _score(row, "avg@n", estimate(shares), n_samples=n_samples)
    yield _score(row, "bayes@n", bayes_at_n(tasks), n_samples=n_samples)
    for k in sorted(k for k in set(wanted) if 1 < k <= row["fewest_given"]):
        counted = [task for task in tasks if task[0] >= k]
        behind = sum(judged for judged, _ in counted)
        for metric, score_of in _SCORES_OF_K.items() if counted else ():
            known = {task: score_of(*task, k) for task in set(counted)}
            score = estimate([known[task] for task in counted])
            yield _score(row, metric, score, n_samples=behind, k=k)


def _outcome_rows(row: Row) -> list[Row]:
    counted = {"sample_count": row["n_here"]}
    if row["slice_kind"] != "all":
        counted["sample_share"] = row["n_here"] / row["n_samples"]
    else:
        counted["infra_error_count"] = row["n_infra_errors"]
        if row["n_rerun"]:
            counted |= {"rerun_count": row["n_rerun"], "flaky_count": row["n_flaky"]}
    return [_count(row, metric, value) for metric, value in counted.items()]


def _count(row: Row, metric: str, value: float) -> Row:
    behind = {"n_tasks": row["n_tasks"], "n_samples": row["n_samples"]}
    return {**_slice_of(row), "metric": metric, "value": float(value), **behind}


def _score(row: Row, metric: str, score: Estimate, *, n_samples: int, k: int | None = None) -> Row:
    low, high = score.interval or (None, None)
    return {
        **_slice_of(row),
        "metric": metric,
        "k": k,
        "value": score.value,
        "standard_error": score.standard_error,
        "ci_low": low,
        "ci_high": high,
        "n_tasks": score.n_tasks,
        "n_samples": n_samples,
    }


def _slice_of(row: Row) -> Row:
    return {name: row[name] for name in ("variant", "sanitizer", "slice_kind", "slice")}
