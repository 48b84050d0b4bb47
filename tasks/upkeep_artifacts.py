"""Artifacts of sweeps, environment checks and retention in the Prefect UI."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from bigcodeflow.core.table import Table
from bigcodeflow.execution.environment_check import wording
from bigcodeflow.pipeline.environment_check import EnvironmentCheckResult
from bigcodeflow.pipeline.retention import Removable, RetentionConfig, removed_rows, totals
from bigcodeflow.pipeline.sweep_results import OF_PAGES, MemberResult, brief_rows, result_rows, summary
from bigcodeflow.pipeline.sweeps import SweepConfig
from tasks.progress import artifact_key, linked

#: Most rows of retention's table: a store may hold many thousands of artifacts, an artifact of Prefect only 512 KB.
_MOST_ROWS = 500


def show_sweep(config: SweepConfig, results: Sequence[MemberResult], file: Path) -> None:
    """Attach a table of results, a table of failures if any run failed, and a page with both to the flow run."""
    key = artifact_key("sweep", config.name)
    described = linked(f"{summary(results)} · sweep {config.name}", config.store)
    create_table_artifact(result_rows(results), key=key, description=described)
    failures = [{"run": result.name, "why": result.error} for result in results if result.outcome == "failed"]
    if failures:
        description = linked(
            f"Runs of sweep {config.name} that failed; run the sweep again to repeat these", config.store
        )
        create_table_artifact(failures, key=f"{key}-failures", description=description)
    create_markdown_artifact(sweep_page(config, results, file), key=f"{key}-result", description=described)


def sweep_page(config: SweepConfig, results: Sequence[MemberResult], file: Path) -> str:
    """Return a Markdown page of the sweep: counts of executed, reused and failed runs, the table, and its file."""
    parts = [
        f"# Sweep {config.name}",
        f"{summary(results)}.",
        Table.of_records(brief_rows(results, OF_PAGES)).to_markdown(),
    ]
    failed = [f"- **{result.name}**: {result.error}" for result in results if result.outcome == "failed"]
    if failed:
        parts += [
            "## Failed",
            "\n".join(failed),
            "Run the sweep again, or use *Retry* if this run has it: only the failed runs are repeated.",
        ]
    return "\n\n".join([*parts, f"The table as a file: `{file.absolute()}`"]) + "\n"


def listed(lines: Iterable[str]) -> str:
    """Return the lines as a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def show_check(found: EnvironmentCheckResult) -> None:
    """Attach a table of the checks, and a page with all details, to the flow run."""
    imports, name = found.imports, found.config.environment
    checks = [
        _check("libraries that can be imported", imports.modules - len(imports.failures), imports.modules),
        _check("tasks that can be judged", found.n_tasks - len(found.unjudgeable), found.n_tasks),
        *(_check(f"control: {one.control}", one.held, one.tasks, sound=not one.offences) for one in found.controls),
    ]
    tables = [
        ("Libraries that cannot be imported", Table.of(("library", "error"), list(imports.failures.items()))),
        ("Tasks that cannot be judged", found.unjudgeable_table),
    ]
    if repeated := found.repeated:
        reliable = len(repeated.rows) - len(repeated.suspects)
        title = f"tasks that never failed in {repeated.executions:,} executions"
        checks.append(_check(title, reliable, len(repeated.rows)))
        tables.append(("Tasks in quarantine", repeated.table))
    key = artifact_key("environment", name)
    described = linked(f"Check of environment {name}", found.config.store)
    create_table_artifact(checks, key=key, description=described)
    lines = listed(line for result in found.controls for line in wording(result))
    parts = [f"# Environment {name}", Table.of_records(checks).to_markdown(), "## Controls", lines]
    parts += [f"## {title}\n\n{table.to_markdown()}" for title, table in tables if table.rows]
    page = "\n\n".join(parts) + "\n"
    described = linked(f"Environment {name}: what it can judge", found.config.store)
    create_markdown_artifact(page, key=f"{key}-result", description=described)


def _check(title: str, held: int, total: int, *, sound: bool | None = None) -> dict[str, str]:
    held_all = held == total if sound is None else sound
    return {"check": title, "holds for": f"{held:,} of {total:,}", "verdict": "sound" if held_all else "wanting"}


def show_removed(config: RetentionConfig, found: Sequence[Removable]) -> None:
    """Attach a table of the removed (or, in a dry run, removable) artifacts, the largest first."""
    rows = removed_rows(found)[:_MOST_ROWS]
    described = f"{'Would go' if config.dry_run else 'Went'} from {config.store}: {totals(found)}"
    create_table_artifact(rows, key="retention", description=linked(described, config.store))
    get_run_logger().info("%s", described)
