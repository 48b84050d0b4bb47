"""Runs the benchmark flow from the command line, on a running Prefect server or on one started for it."""

import os
from datetime import UTC, datetime

from bigcodeflow.cli.console import notices
from bigcodeflow.cli.results import finish, show_places, show_results
from bigcodeflow.config import RunConfig
from bigcodeflow.stages import finished_run

#: Set before Prefect is imported, and only where the user has set nothing.
_PREFECT_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # A loaded machine needs more than the default 20 s to bring the server up.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}


def run_flow(config: RunConfig) -> None:
    """Run the flow to its end and show what it found.

    Raises:
        BigCodeFlowError: what a stage found wrong.
    """
    for name, value in _PREFECT_SETTINGS.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("PREFECT_API_URL"):
        started_at = datetime.now(UTC)
        artifacts = finished_run(config)
        if artifacts is not None:  # a server of its own would take longer to start than everything else takes
            notices.print("every stage is in the cache: nothing to run")
            finish(config, artifacts, started_at)
            return
        notices.print("starting a Prefect server for this run (PREFECT_API_URL would name a running one) …")
    from flows.benchmark import benchmark

    artifacts = benchmark(config)
    show_results(config, artifacts)
    show_places(config)
