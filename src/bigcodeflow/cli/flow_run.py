"""Runs the benchmark flow from the command line, on a running Prefect server or on one started for it."""

import os

from bigcodeflow.cli.console import notices
from bigcodeflow.cli.results import show_places, show_results
from bigcodeflow.config import RunConfig

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
        notices.print("starting a Prefect server for this run (set PREFECT_API_URL to use a running one) …")
    from flows.benchmark import benchmark

    artifacts = benchmark(config)
    show_results(config, artifacts)
    show_places(config)
    notices.print("UI         prefect server start, then open http://127.0.0.1:4200 (all runs so far are there)")
