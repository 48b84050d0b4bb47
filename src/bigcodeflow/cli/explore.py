"""`bigcodeflow explore`: the runs of a store as web pages on this machine."""

import webbrowser
from typing import Annotated

import typer

from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.options import RecordedStore


def explore(
    store: RecordedStore = "results/store",
    host: Annotated[
        str, typer.Option(help="Address to listen on; whoever reaches it can read every run, prompt and answer.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 4280,
    open_browser: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Show the runs of a store in the browser: those recorded, those in progress, trends, comparisons, samples.

    It changes only labels of runs, and stops with Ctrl-C. `bigcodeflow up` starts one beside the Prefect UI. See
    docs/explorer.md.
    """
    from bigcodeflow.core.listening import is_loopback
    from bigcodeflow.explorer import server

    def ready(url: str) -> None:
        print_line(url)
        notice(f"runs of {store}; Ctrl-C stops")
        if not is_loopback(host):
            notice(f"no key is asked for: whoever reaches {host} can read what is here")
        if open_browser and not webbrowser.open(url):
            notice(f"no browser could be started: open {url} in one")

    server.explore(store, host=host, port=port, ready=ready)
