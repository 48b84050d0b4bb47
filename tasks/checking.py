"""What the check of an environment shows in the Prefect UI."""

from collections.abc import Mapping, Sequence
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from bigcodeflow.execution.environment_check import ControlResult, UnjudgeableTask, wording
from bigcodeflow.pipeline.environment_check import EnvironmentCheckConfig, Imports, Repeated
from tasks.tables import artifact_key, markdown_table


def show_check(
    config: EnvironmentCheckConfig,
    n_tasks: int,
    *,
    imports: Imports,
    unjudgeable: Sequence[UnjudgeableTask],
    controls: Sequence[ControlResult],
    repeated: Repeated | None,
) -> None:
    """Attach the checks as a table, and everything that was found as one page."""
    key = artifact_key("environment", config.environment)
    checks = [
        _check("libraries that can be imported", imports.modules - len(imports.failures), imports.modules),
        _check("tasks that can be judged", n_tasks - len(unjudgeable), n_tasks),
        *(_check(f"control: {one.control}", one.held, one.tasks, sound=not one.offences) for one in controls),
    ]
    if repeated is not None:
        reliable = len(repeated.rows) - len(repeated.suspects)
        told = f"tasks that never failed in {repeated.executions:,} executions"
        checks.append(_check(told, reliable, len(repeated.rows)))
    create_table_artifact(checks, key=key, description=f"Check of environment {config.environment}")
    tables = [
        ("Libraries that cannot be imported", [{"library": k, "error": v} for k, v in imports.failures.items()]),
        ("Tasks that cannot be judged", [_unjudgeable(task) for task in unjudgeable]),
        ("Tasks in quarantine", [_suspect(row) for row in repeated.suspects] if repeated else []),
    ]
    lines = "\n".join(f"- {line}" for result in controls for line in wording(result))
    parts = [f"# Environment {config.environment}", markdown_table(checks), "## Controls", lines]
    parts += [f"## {title}\n\n{markdown_table(rows)}" for title, rows in tables if rows]
    told = f"Environment {config.environment}: what it can judge"
    create_markdown_artifact("\n\n".join(parts) + "\n", key=f"{key}-result", description=told)


def _check(told: str, held: int, total: int, *, sound: bool | None = None) -> dict[str, str]:
    held_all = held == total if sound is None else sound
    return {"check": told, "holds for": f"{held:,} of {total:,}", "verdict": "sound" if held_all else "wanting"}


def _unjudgeable(task: UnjudgeableTask) -> dict[str, str]:
    return {"task": task.task_id, "status": task.status, "needs": task.reason, "told": task.evidence}


def _suspect(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "task": row["task_id"],
        "passes": f"{row['passes']:,} of {row['executions']:,}",
        "statuses": ", ".join(row["statuses"]),
        "needs": row["reason"],
        "told": row["evidence"],
    }
