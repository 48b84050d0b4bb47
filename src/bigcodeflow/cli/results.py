"""What a finished run shows: the summary on standard output, and where everything lies."""

from bigcodeflow import outputs, results
from bigcodeflow.artifacts import Store
from bigcodeflow.cli.console import notices, out
from bigcodeflow.config import RunConfig
from bigcodeflow.stages import RunArtifacts


def show_results(config: RunConfig, artifacts: RunArtifacts) -> None:
    """Print the run's summary."""
    store = Store(config.store)
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    title = outputs.file_stem(config)
    out.print(results.render_summary(store.read(artifacts.aggregation), failures=failures, title=title))


def show_places(config: RunConfig) -> None:
    """Say where result files, artifacts and the catalog are."""
    notices.print(f"results    {config.out}", soft_wrap=True)
    notices.print(f"artifacts  {config.store}", soft_wrap=True)
    notices.print(f"catalog    {config.store}/{results.CATALOG_NAME}  (open it with any DuckDB client)", soft_wrap=True)
