"""The `bigcodeflow` command: finds the commands and turns user errors into one line without a traceback."""

import sys
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import bigcodeflow
from bigcodeflow.core.errors import BigCodeFlowError

#: Module below bigcodeflow.cli, and the function or the group in it, by command.
_COMMANDS = {
    "run": "run.run",
    "sweep": "run.sweep",
    "generate": "samples.generate",
    "evaluate": "run.evaluate",
    "sanitize": "samples.sanitize",
    "syncheck": "samples.syncheck",
    "import": "importing.import_results",
    "inspect": "inspect.inspect",
    "compare": "compare.compare",
    "plan": "compare.plan",
    "report": "store.report",
    "catalog": "store.catalog",
    "up": "service.up",
    "status": "service.status",
    "down": "service.down",
    "clean": "store.clean",
    "serve": "service.serve",
    "doctor": "env.doctor",
    "dataset": "dataset.app",
    "leaderboard": "leaderboard.app",
    "env": "env.app",
}


class _LazyCommands(UserDict[str, Any]):
    """The commands by name, each imported when it is asked for: all of them take most of a second."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self.data[name].partition(".")
        found = getattr(import_module(f"bigcodeflow.cli.{module}"), attribute)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False)
            found.command(name)(function)
        command = typer.main.get_command(found)
        command.name = name
        return command


class _Group(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _LazyCommands(_COMMANDS)


app = typer.Typer(
    name="bigcodeflow",
    cls=_Group,
    help="Run BigCodeBench as a resumable pipeline: load tasks, ask models, sanitize answers, execute and score them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(bigcodeflow.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Entry point of the command. Exit codes: 0 done, 1 a named problem, 2 a wrong command line, 130 Ctrl-C."""
    try:
        app()
    except BigCodeFlowError as error:
        from bigcodeflow.cli.console import notices

        notices.print("[bold red]error:[/bold red]", end=" ")
        notices.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("stopped; what is finished is kept: run the same command again to go on", err=True)
        sys.exit(130)
