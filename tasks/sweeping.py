"""What a sweep shows in the Prefect UI: its way through the runs, and the table of what became of each."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.logging import get_run_logger

from bigcodeflow.pipeline.sweeps import MemberResult, SweepConfig, result_rows
from tasks.tables import artifact_key, markdown_table


class SweepProgress:
    """A progress artifact, and a log line for each run that begins."""

    def __init__(self, name: str, total: int) -> None:
        self._total = total
        key = f"{artifact_key('sweep', name)}-progress"
        # An id, since the function is also asynchronous for callers that are.
        self._artifact_id = UUID(str(create_progress_artifact(0.0, key=key, description=f"Progress of sweep {name}")))

    def show(self, finished: int, told: str) -> None:
        """Take note that so many runs are finished, and which one begins."""
        get_run_logger().info("%s of %s runs: %s", f"{finished:,}", f"{self._total:,}", told)
        try:
            update_progress_artifact(self._artifact_id, progress=100.0 * finished / self._total)
        except httpx.HTTPError as error:  # hours of work must not be lost to a bar that cannot be drawn
            get_run_logger().warning("progress could not be shown (%s)", error)


def show_sweep(config: SweepConfig, results: Sequence[MemberResult], file: Path) -> None:
    """Attach the table of results, the table of failures where there are any, and the whole as one page."""
    key = artifact_key("sweep", config.name)
    create_table_artifact(result_rows(results), key=key, description=f"Results of sweep {config.name}")
    failures = [{"run": result.name, "why": result.error} for result in results if result.outcome == "failed"]
    if failures:
        told = f"Runs of sweep {config.name} that failed; retry the sweep for these alone"
        create_table_artifact(failures, key=f"{key}-failures", description=told)
    create_markdown_artifact(sweep_page(config, results, file), key=f"{key}-result", description=f"Sweep {config.name}")


def sweep_page(config: SweepConfig, results: Sequence[MemberResult], file: Path) -> str:
    """The sweep as Markdown: how many ran, were reused and failed, the table, and where the files lie."""
    counts = {outcome: sum(result.outcome == outcome for result in results) for outcome in ("ran", "reused", "failed")}
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count)
    parts = [f"# Sweep {config.name}", f"{len(results):,} runs: {told}.", markdown_table(result_rows(results))]
    failed = [f"- **{result.name}**: {result.error}" for result in results if result.outcome == "failed"]
    if failed:
        parts += ["## Failed", "\n".join(failed), "Retry this run, or run the sweep again: only these run."]
    return "\n\n".join([*parts, f"The table as a file: `{file.absolute()}`"]) + "\n"
