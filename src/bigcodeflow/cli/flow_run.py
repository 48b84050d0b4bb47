"""Runs the benchmark flow from the command line, on a running Prefect server or on one started for it."""

import os
from datetime import UTC, datetime
from pathlib import Path

from bigcodeflow.cli.console import notices
from bigcodeflow.cli.results import finish, show_places, show_results
from bigcodeflow.config import RunConfig
from bigcodeflow.pipeline.outputs import in_own_folder
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.stages import finished_run

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
    started_at = datetime.now(UTC)
    config = in_own_folder(config, started_at)
    if not prepare_prefect():
        artifacts = finished_run(resolve(config))
        if artifacts is not None:  # a server of its own would take longer to start than everything else takes
            notices.print("every stage is in the cache: nothing to run")
            finish(config, artifacts, started_at)
            return
        notices.print("starting a Prefect server for this run (`bigcodeflow up` starts one that stays) …")
    from flows.benchmark import benchmark

    artifacts = benchmark(config)
    show_results(config, artifacts)
    show_places(config)


def prepare_prefect() -> bool:
    """Set what Prefect reads when it is imported; whether a running server is named."""
    use_running_server()
    for name, value in _PREFECT_SETTINGS.items():
        os.environ.setdefault(name, value)
    return bool(os.environ.get("PREFECT_API_URL"))


def use_running_server() -> None:
    """Make Prefect use the server that `bigcodeflow up` started from this folder, where the user names no other."""
    state = Path(os.environ.get("BIGCODEFLOW_STATE", ".bigcodeflow"))
    if os.environ.get("PREFECT_API_URL") or not (state / "service.json").is_file():
        return
    from bigcodeflow.prefect_service import ServiceFolder, running_server

    settings = running_server(ServiceFolder(state))
    if settings is None:
        return
    notices.print(f"on the Prefect server of this folder: {settings.ui_url}", soft_wrap=True)
    os.environ["PREFECT_API_URL"] = settings.api_url
