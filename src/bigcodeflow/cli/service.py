"""`bigcodeflow up`, `down` and `status`: a Prefect server with a worker and all deployments, as one thing."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bigcodeflow.cli.console import notice, out, print_line
from bigcodeflow.core.table import Column, Table

if TYPE_CHECKING:
    from bigcodeflow.prefect_service import ServiceState

_STATE = Path(".bigcodeflow")
_State = Annotated[Path, typer.Option(help="Folder of database, logs and what is running.", envvar="BIGCODEFLOW_STATE")]


def up(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port of the server.", show_default="4200, or the next free one"),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; whoever reaches it can run code here.", show_default="127.0.0.1"),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="Prefect's database: postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME, or 'sqlite'.",
            show_default="sqlite",
            envvar="BIGCODEFLOW_DATABASE",
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Runs that may execute samples at once.", show_default="2")
    ] = None,
    schedules: Annotated[
        bool | None, typer.Option(help="Switch every schedule on or off.", show_default="as they are; off at first")
    ] = None,
    deployments: Annotated[
        Path | None, typer.Option(help="A prefect.yaml of your own.", show_default="the shipped one")
    ] = None,
    state: _State = _STATE,
) -> None:
    """Start a Prefect server and a worker here, and register all deployments; return when runs can be triggered.

    Run it again at any time: what runs is left alone, what died is started, deployments follow updates of the package
    and of prefect.yaml. Options are remembered. Runs start in this folder. See docs/deployments.md.
    """
    from bigcodeflow.prefect_service import ServiceFolder, ServiceOptions, start_service

    folder = ServiceFolder(state)
    options = ServiceOptions(host, port, database, deployments, runs, schedules)
    started = start_service(folder, Path.cwd(), options, notice)
    notice(f"started: {', '.join(started.new)}" if started.new else "everything was running already")
    active, all_schedules = started.schedules
    print_line(f"Prefect UI: {started.settings.ui_url}")
    notice(
        f"{started.deployments} deployments; {active} of {all_schedules} schedules are on (switch with --schedules); "
        f"at most {started.execution_runs or 'any number of'} runs execute samples at once (--runs)"
    )
    notice(f"for prefect's own commands: export PREFECT_API_URL={started.settings.api_url}")
    notice(f"logs: {folder.logs}; stop with `bigcodeflow down{_option(state)}`")


def down(
    wait: Annotated[
        bool, typer.Option("--wait", help="Let runs end first; else they are cancelled and can be retried later.")
    ] = False,
    state: _State = _STATE,
) -> None:
    """Stop what `bigcodeflow up` started: runs, then the worker, then the server. Database and results stay."""
    from bigcodeflow.prefect_service import ServiceFolder, stop_service

    folder = ServiceFolder(state)
    if not folder.exists:
        notice(f"nothing was started from {folder.root}; another folder is named with --state")
        return
    stopped = stop_service(folder, wait=wait, notify=notice)
    notice(f"stopped: {', '.join(stopped)}" if stopped else "nothing was running")


def status(state: _State = _STATE) -> None:
    """Say what of the service runs, where, and what it has registered. Exit code 1 unless runs would be taken up."""
    from bigcodeflow.prefect_service import ServiceFolder, service_state

    folder = ServiceFolder(state)
    found = service_state(folder)
    if found is None:
        notice(f"nothing was started from {folder.root}: `bigcodeflow up`; another folder is named with --state")
        raise typer.Exit(1)
    out.print(_table(found, folder.logs))
    if not found.ready:
        notice(f"`bigcodeflow up{_option(state)}` starts what is missing")
        raise typer.Exit(1)


def _table(found: "ServiceState", logs: Path) -> Table:
    from bigcodeflow.prefect_service.database import without_password

    server, worker = ("not running" if one is None else f"process {one.pid}" for one in (found.server, found.worker))
    if found.server is not None:
        server += f", {found.settings.ui_url}" + ("" if found.answering else ", does not answer")
    if found.worker is not None and not found.worker_online:
        worker += ", not known to the server"
    rows = [
        ("server", server),
        ("worker", worker),
        ("database", without_password(found.settings.database)),
        ("runs", f"{found.running} running"),
        ("deployments", ", ".join(found.deployments) or "none"),
        ("schedules on", ", ".join(found.active_schedules) or "none"),
        ("logs", str(logs)),
        ("PREFECT_API_URL", found.settings.api_url),
    ]
    return Table((Column("", wrap="never"), Column("")), rows)


def _option(state: Path) -> str:
    return "" if state == _STATE else f" --state {state}"
