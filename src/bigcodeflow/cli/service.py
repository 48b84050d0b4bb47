"""`bigcodeflow up`, `status` and `down`: Prefect's server, worker and deployments; `serve`: sandboxes over HTTP."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli.console import notice, out, print_line
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.settings import SettingOption, validated
from bigcodeflow.core.table import Column, Table
from bigcodeflow.prefect_service.folder import (
    DEFAULT_STATE,
    PARTS,
    STATE_VARIABLE,
    ServiceFolder,
    ServiceSettings,
    service_state,
)

_STATE = Path(DEFAULT_STATE)
_State = Annotated[Path, typer.Option(help="Folder of database, logs and what is running.", envvar=STATE_VARIABLE)]


@settings_options(
    SettingOption("port", shown="4200, or the next free one"),
    "host",
    SettingOption("database", shown="sqlite", variable="BIGCODEFLOW_DATABASE"),
    SettingOption("deployments", shown="the shipped one"),
    "store",
    model=ServiceSettings,
)
def up(
    given: dict[str, Any],
    runs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Runs that may execute samples at once.", show_default="2")
    ] = None,
    schedules: Annotated[
        bool | None, typer.Option(help="Switch every schedule on or off.", show_default="as they are; off at first")
    ] = None,
    env_file: Annotated[
        str | None, typer.Option(help=ServiceSettings.model_fields["env_file"].description, show_default="none")
    ] = None,
    state: _State = _STATE,
) -> None:
    """Start a Prefect server and a worker here, and register all deployments; return when runs can be triggered.

    At any time, the command can be run again: it starts only missing parts, and updates the deployments to the package
    and to prefect.yaml. Options are remembered. Runs start in this folder. See docs/deployments.md.
    """
    from bigcodeflow.prefect_service.start import start_service

    folder = ServiceFolder(state)
    given |= {} if env_file is None else {"env_file": env_file}  # an empty one forgets it
    started = start_service(folder, Path.cwd(), given, notice, execution_runs=runs, schedules=schedules)
    notice(f"started: {', '.join(started.new)}" if started.new else "everything was running already")
    print_line(f"Prefect UI: {started.settings.ui_url}")
    if started.has_explorer:
        print_line(f"Explorer: {started.settings.explorer_url}")
    notice(
        f"{started.deployments} deployments; {sum(started.schedules)} of {len(started.schedules)} schedules are on "
        f"(--schedules); at most {started.execution_runs or 'any number of'} runs execute samples at once (--runs)"
    )
    variables = f"PREFECT_API_URL={started.settings.api_url} PREFECT_UI_URL={started.settings.ui_url}/v2"
    notice(f"for prefect's own commands: export {variables}")
    notice(f"logs: {folder.logs}; stop with `bigcodeflow down{_option(state)}`")


def down(
    wait: Annotated[
        bool, typer.Option("--wait", help="Let runs end first; else they are cancelled and can be retried later.")
    ] = False,
    state: _State = _STATE,
) -> None:
    """Stop what `bigcodeflow up` started: runs, then the worker, then the server. Database and results stay."""
    from bigcodeflow.prefect_service.stop import stop_service

    folder = ServiceFolder(state)
    if not folder.exists:
        notice(f"no service was started in {folder.root}: name its folder with --state")
        return
    stopped = stop_service(folder, wait=wait, notify=notice)
    notice(f"stopped: {', '.join(stopped)}" if stopped else "nothing was running")


def status(state: _State = _STATE) -> None:
    """Show which parts of the service run, where, and its deployments. Exit code 1 if no new run could start."""
    from bigcodeflow.prefect_service.options import without_password

    folder = ServiceFolder(state)
    if not folder.exists:
        notice(f"no service was started in {folder.root}: run `bigcodeflow up`, or name another folder with --state")
        raise typer.Exit(1)
    found = service_state(folder)
    record, settings = found.record, found.record.settings
    running = {name: record.running(name) for name in PARTS}
    shown = {name: f"process {one.pid}" if one else "not running" for name, one in running.items()}
    if running["server"]:
        shown["server"] += f", {settings.ui_url}" + ("" if found.answering else ", does not answer")
    if running["worker"] and not found.worker_online:
        shown["worker"] += ", not known to the server"
    if running["explorer"]:
        shown["explorer"] += f", {settings.explorer_url}"
    rows = [
        *shown.items(),
        ("database", without_password(settings.database)),
        ("runs", f"{found.running} running"),
        ("deployments", ", ".join(found.deployments) or "none"),
        ("schedules on", ", ".join(found.active_schedules) or "none"),
        ("variables for runs", settings.env_file or "none (--env-file)"),
        ("logs", str(folder.logs)),
        ("PREFECT_API_URL", settings.api_url),
    ]
    out.print(Table((Column("", wrap="never"), Column("")), rows))
    if not (found.answering and found.worker_online and running["worker"]):
        notice(f"`bigcodeflow up{_option(state)}` starts what is missing")
        raise typer.Exit(1)


def _option(state: Path) -> str:
    return "" if state == _STATE else f" --state {state}"


@settings_options(*(name for name in LimitsConfig.model_fields if name != "time_policy"), model=LimitsConfig)
def serve(
    given: dict[str, Any],
    host: Annotated[str, typer.Option(help="Address to listen on; others than loopback need a key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8017,
    environment: Annotated[str, typer.Option(help="Sandbox environment that executes.")] = "bigcodebench",
    cores: Annotated[
        int, typer.Option(min=0, max=1024, help="Cores that samples may keep busy.", show_default="all")
    ] = 0,
    slots_per_core: Annotated[int, typer.Option(min=1, max=64, help="Samples in flight for each core.")] = 8,
    api_key_variable: Annotated[
        str, typer.Option(metavar="NAME", help="Environment variable that holds the key which clients have to know.")
    ] = "BIGCODEFLOW_SERVICE_KEY",
    max_batch: Annotated[int, typer.Option(min=1, help="Items of a request.")] = 1000,
    max_body_mib: Annotated[int, typer.Option(min=1, max=1024, help="Size of a request, in MiB.")] = 64,
    max_queue: Annotated[int, typer.Option(min=1, help="Items that wait or run at once, of all clients.")] = 4000,
    most_seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="Time that an item may ask for.")] = 3600.0,
) -> None:
    """Execute programs that clients send in batches over HTTP; return one line per verdict. Ctrl-C or SIGTERM ends it.

    Limits bound what a batch may request; --time-seconds is the time limit of an item that requests none.
    `bigcodeflow evaluate --backend http` is one client; there may be others. See docs/service.md.
    """
    from bigcodeflow.execution.stored_contradictions import StoredContradictions
    from bigcodeflow.judge.environments import find_environment
    from bigcodeflow.judge.service.app import serve, usable_key
    from bigcodeflow.judge.service.request_parsing import ServingSettings

    key = usable_key(os.environ.get(api_key_variable, ""), host, api_key_variable)
    limits = validated(LimitsConfig, given, "command line")
    settings = ServingSettings(
        limits=limits,
        most_seconds=max(most_seconds, limits.time_seconds),
        max_batch=max_batch,
        max_body_mib=max_body_mib,
        max_queue=max_queue,
        key=key,
    )
    needed = f"clients need the key in {api_key_variable}"
    clients = needed if key else f"clients need no key (set {api_key_variable} to require a key)"

    def ready(address: str, slots: int) -> None:
        print_line(f"serving environment {environment} on {address}")
        notice(f"{slots} items at a time; {clients}; Ctrl-C stops")

    found = find_environment(environment)
    serve(
        found,
        settings,
        host=host,
        port=port,
        cores=cores,
        slots_per_core=slots_per_core,
        ready=ready,
        known=StoredContradictions(None, found.environment_sha),
    )
    notice("stopped: nothing runs any more")
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of ended items hold no resources; waiting for them would only delay the exit.
    os._exit(0)
