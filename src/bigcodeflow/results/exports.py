"""Result files in the formats of BigCodeBench's original evaluator; see docs/formats.md."""

import math
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.results import models
from bigcodeflow.results.aggregation import ground_truth_failures
from bigcodeflow.results.formatting import json_text
from bigcodeflow.results.run_tables import RunTables, open_tables

#: Statuses written as they are; every other status is written as "fail".
_EXPORTED_STATUSES = {"pass", "timeout", "infra_error"}
#: Outcomes of tests that fail a sample; "missing": the test reported no outcome.
FAILING_OUTCOMES = ("fail", "error", "missing")


def write_eval_results(
    out: Path, *, tasks: Path, solutions: Path, verdicts: Path, variant: str, sanitizer: str, evaluated_at: datetime
) -> Path:
    """Write the verdicts of one variant and sanitizer to ``out`` as ``<stem>_eval_results.json``; return the path.

    A sample that was not judged has the status ``infra_error``, which the original format lacks: "fail" would look
    like a real failure. Raises ArtifactError if there are no verdicts, or the solution of a verdict is missing.
    """
    tables = RunTables({"tasks": tasks, "solutions": solutions, "verdicts": verdicts})
    with open_tables([tables]) as connection:
        rows = models.rows_of(connection, "executed_samples", {"variant": variant, "sanitizer": sanitizer})
    if not rows:
        raise ArtifactError(
            f"{verdicts}: has no verdict of variant {variant}, sanitizer {sanitizer} for the tasks in {tasks}: "
            "export a variant and sanitizer that the run has, or run the execution stage with these settings"
        )
    results: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["solution"] is None:
            raise ArtifactError(
                f"{solutions}: task {row['task_id']}, sample_index {row['sample_index']} has a verdict but no "
                f"{sanitizer} solution: export with the solutions that were executed"
            )
        program = executed_program(code_prompt=row["code_prompt"], solution=row["solution"], variant=variant)
        status = row["status"] if row["status"] in _EXPORTED_STATUSES else "fail"
        entry = {"task_id": row["task_id"], "solution": program, "status": status, "details": failure_details(row)}
        results.setdefault(row["task_id"], []).append(entry)
    content = {"date": evaluated_at.strftime("%Y-%m-%d %H:%M"), "eval": results}
    return write_atomically(out, json_text(content).encode())


def write_pass_at_k(
    out: Path, *, metrics: pa.Table, ground_truth: Path, model: str, variant: str, sanitizer: str, selection: str = ""
) -> Path:
    """Write the scores of one variant and sanitizer to ``out`` as ``<stem>_pass_at_k.json``; return the path.

    Keys: ``pass@1`` (and ``pass@k`` for further k), ``model``, ``split``, ``subset``, ``calibrated``, ``gt_pass_rate``,
    ``failed_tasks``; ``infra_error_count`` only if some samples were not judged, ``excluded_task_count`` only if
    quarantined tasks were left out of the scores, ``selection`` only if some tasks were not selected. A score is null
    if no task has k judged samples.
    """
    overall = [row for row in metrics.to_pylist() if row["slice_kind"] == "all"]
    ours = [row for row in overall if (row["variant"], row["sanitizer"]) == (variant, sanitizer)]
    counts = {row["metric"]: row for row in ours}
    if "sample_count" not in counts:
        raise ArtifactError(
            f"metrics have no row of variant {variant}, sanitizer {sanitizer}, so {out.name} cannot be written: "
            "export a variant and sanitizer that the run has, or run the execution stage with these settings"
        )
    scores = sorted((row["k"], row["value"]) for row in ours if row["metric"] == "pass@k")
    infra_errors = int(counts["infra_error_count"]["value"])
    excluded = counts.get("excluded_task_count")
    rate = next((row["value"] for row in overall if row["metric"] == "ground_truth_rate"), math.nan)
    content = {
        **{f"pass@{k}": value for k, value in scores},
        "model": model,
        "split": counts["sample_count"]["split"],
        "subset": counts["sample_count"]["subset"],
        "calibrated": variant == "calibrated",
        "gt_pass_rate": rate,
        "failed_tasks": [failure.task_id for failure in ground_truth_failures(ground_truth)],
        **({"infra_error_count": infra_errors} if infra_errors else {}),
        # Shows that the score covers fewer tasks than the benchmark has.
        **({"excluded_task_count": int(excluded["value"])} if excluded else {}),
        **({"selection": selection} if selection else {}),
    }
    return write_atomically(out, json_text(content).encode())


def failure_details(verdict: Mapping[str, Any]) -> dict[str, str]:
    """Map each failing test's name to its trace, as in the original's files; the name 'ALL' means the whole module."""
    if verdict["status"] in {"pass", "timeout"}:  # the original writes no details for these
        return {}
    if verdict["module_trace"]:
        return {"ALL": verdict["module_trace"]}
    # A sandbox that died reports no tests; the reader then needs this text as the reason.
    reason = f"{verdict['status']} ({verdict['failure_kind'] or 'no cause recorded'}): {verdict['exit']}\n"
    failing = [test for test in verdict["tests"] or () if test["outcome"] in FAILING_OUTCOMES]
    return {test["name"]: test["trace"] or reason for test in failing} or {"ALL": reason}
