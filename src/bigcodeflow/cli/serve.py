"""`bigcodeflow serve`: this machine's sandboxes as a service over HTTP."""

import os
import sys
from typing import Annotated, Any

import typer

from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.options import SettingOption, settings_options
from bigcodeflow.config import LimitsConfig


@settings_options(*map(SettingOption, LimitsConfig.model_fields), model=LimitsConfig)
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
    """Execute programs for others: batches in over HTTP, one verdict a line out. Stop it with Ctrl-C or SIGTERM.

    Limits bound what a batch may ask for; --time-seconds is the time of an item that asks for none.
    `bigcodeflow evaluate --backend http` is one client; any other may be. See docs/service.md.
    """
    from bigcodeflow.core.settings import validated
    from bigcodeflow.environments import find_environment
    from bigcodeflow.serving.access import usable_key
    from bigcodeflow.serving.request_parsing import ServingSettings
    from bigcodeflow.serving.server import serve

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
    clients = (
        f"clients need the key in {api_key_variable}"
        if key
        else f"no key is asked for (set {api_key_variable} for one)"
    )

    def ready(address: str, slots: int) -> None:
        print_line(f"serving environment {environment} on {address}")
        notice(f"{slots} items at a time; {clients}; Ctrl-C stops")

    found = find_environment(environment)
    serve(found, settings, host=host, port=port, cores=cores, slots_per_core=slots_per_core, ready=ready)
    notice("stopped: nothing runs any more")
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of items that were ended hold nothing; waiting for them would only delay the end.
    os._exit(0)
