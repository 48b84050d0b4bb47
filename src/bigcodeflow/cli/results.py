"""What a finished run shows: the summary on standard output, and where everything lies."""

import sys
from datetime import datetime
from pathlib import Path

from bigcodeflow import results
from bigcodeflow.cli.console import notices, out
from bigcodeflow.config import RunConfig
from bigcodeflow.pipeline import outputs
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store


def show_results(config: RunConfig, artifacts: RunArtifacts) -> None:
    """Print the run's summary."""
    store = open_store(config.store)
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    title = outputs.run_title(config)
    out.print(results.render_summary(store.read(artifacts.aggregation), failures=failures, title=title))


def finish(config: RunConfig, artifacts: RunArtifacts, started_at: datetime) -> None:
    """Write the outputs of a run that did without Prefect, and show them."""
    now = datetime.now().astimezone()
    outputs.write_outputs(config, artifacts, open_store(config.store), started_at=started_at, evaluated_at=now)
    show_results(config, artifacts)
    show_places(config)


def show_places(config: RunConfig) -> None:
    """Say where result files, artifacts and the catalog are."""
    notices.print(f"results    {config.out}", soft_wrap=True)
    notices.print(f"artifacts  {config.store}", soft_wrap=True)
    store = open_store(config.store)
    # The catalog of a store at a URL lies in this machine's replica.
    folder = store.root if config.store == store.location else config.store
    notices.print(f"catalog    {folder}/{results.CATALOG_NAME}  (for any DuckDB client)", soft_wrap=True)
    server = Path(sys.executable).with_name("prefect")
    notices.print(f"Prefect UI {server} server start, then open http://127.0.0.1:4200", soft_wrap=True)
