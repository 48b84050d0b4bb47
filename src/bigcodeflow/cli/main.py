"""The `bigcodeflow` command line: load a command when it is called, and print errors for users without a traceback."""

import ast
import gc
import os
import sys
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

import bigcodeflow
from bigcodeflow.cli.examples import foreign_options, with_examples
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.listening import reach_loopback_directly
from bigcodeflow.core.plugins import foreign_studies, load_plugin, plugin_entries, study_entries

#: Function or group of each command, as a path below bigcodeflow.cli. Plug-ins add commands: entry points of the group
#: ``bigcodeflow.commands``, each a function, a group or a study.
_COMMANDS = {
    "run": "run:run",
    "sweep": "run:sweep",
    "generate": "samples:generate",
    "evaluate": "run:evaluate",
    "sanitize": "samples:sanitize",
    "syncheck": "samples:syncheck",
    "runs": "runs:app",
    "inspect": "inspect:inspect",
    "compare": "compare:compare",
    "plan": "compare:plan",
    "report": "store:report",
    "explore": "store:explore",
    "catalog": "store:catalog",
    "up": "service:up",
    "status": "service:status",
    "down": "service:down",
    "clean": "store:clean",
    "serve": "service:serve",
    "doctor": "env:doctor",
    "dataset": "dataset:app",
    "env": "env:app",
}


def _summary(name: str, path: str) -> str:
    """Return the first paragraph of a command's help, read from its source since an import would take seconds."""
    module, _, attribute = path.partition(":")
    package, *rest = module.split(".")
    spec = find_spec(package)
    if spec is None or spec.origin is None:  # a broken plug-in: its command says so
        return ""
    place = Path(spec.origin).parent.joinpath(*rest)
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    tree = ast.parse((source if rest else Path(spec.origin)).read_bytes())
    named = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    text = ast.get_docstring(named.get(attribute) or named.get(name) or tree) or ""
    return " ".join(text.partition("\n\n")[0].split())


class _Command(TyperCommand):
    """Command whose module is imported when the command is called, not when it is listed."""

    def __init__(self, name: str, path: str, summary: str = "") -> None:
        super().__init__(name, help=summary)
        self.path = path
        """Location of the function, group or study, as MODULE:NAME."""

    def load(self) -> Any:
        """Import the command's module and return the complete command, with its options and examples."""
        name, loaded = str(self.name), load_plugin(self.path, "this command")
        if isinstance(loaded, type):
            from bigcodeflow.cli.studies import study_command

            loaded = study_command(name)
        if not isinstance(loaded, typer.Typer):
            function, loaded = loaded, typer.Typer(add_completion=False)
            loaded.command(name)(function)
        command = typer.main.get_command(loaded)
        command.name, command.help = name, command.help or self.help or _summary(name, self.path)
        return with_examples(command, name)

    def make_context(self, info_name: Any, args: list[str], *arguments: Any, **named: Any) -> Any:
        command = self.load()
        known = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        if getattr(command, "commands", None) is None and (lines := foreign_options(args, known)):
            typer.echo("\n".join(f"error: {line}" for line in lines), err=True)
            raise typer.Exit(2)
        return command.make_context(info_name, args, *arguments, **named)


class _CommandInterruptedError(Exception):
    """Interruption by Ctrl-C, with a message on what is kept; for a KeyboardInterrupt, typer would print no message."""


class _Group(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _Command(name, f"bigcodeflow.cli.{path}") for name, path in _COMMANDS.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_plugins()
        self._add_foreign_studies()
        for name, command in self.commands.items():
            command.help = command.help or _summary(name, cast("_Command", command).path)
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add_plugins()
        if cmd_name not in self.commands:
            self._add_foreign_studies()
        return super().get_command(ctx, cmd_name)

    def _add_plugins(self) -> None:
        for name, entry in plugin_entries("bigcodeflow.commands").items():
            self.commands.setdefault(name, _Command(name, entry.value))

    def _add_foreign_studies(self) -> None:
        """Add the commands of studies that other installed packages provide."""
        for name, study in foreign_studies().items():
            if study.settings is not None:
                self.commands.setdefault(name, _Command(name, study_entries()[name].value, study.description))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            raise _CommandInterruptedError(str(interruption)) from None


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


def _replace_unprintable() -> None:
    """Make this process and its child processes print ``?`` for characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    encoding = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    os.environ["PYTHONIOENCODING"] = f"{encoding}:replace"


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 a reported problem, 2 a wrong command line, 130 Ctrl-C."""
    gc.set_threshold(10_000)  # Python's 700 searches libraries and tables, which stay until the end, too often
    _replace_unprintable()
    reach_loopback_directly(os.environ)
    try:
        app()
    except BigCodeFlowError as error:
        from bigcodeflow.cli.console import notices

        notices.print("[bold red]error:[/bold red]", end=" ")
        notices.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)
    except (_CommandInterruptedError, KeyboardInterrupt) as interruption:
        typer.echo(str(interruption) or "stopped: what is finished is kept", err=True)
        sys.exit(130)
