"""The `bigcodeflow` command: it loads the commands, and prints user errors as one line without a traceback."""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import bigcodeflow
from bigcodeflow.cli.examples import with_examples
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.listening import reach_loopback_directly

#: For each command, its function or group as a path below bigcodeflow.cli, and the first paragraph of its help;
#: `studies` alone makes the command of the study of that name.
_COMMANDS = {
    "run": ("run.run", "Run every stage on a preset: load, ask the model, sanitize, execute, aggregate."),
    "sweep": ("run.sweep", "Run every model under every split, subset and setting."),
    "generate": (
        "samples.generate",
        "Ask a model for programs and write them as a sample file, ready for `bigcodeflow evaluate`.",
    ),
    "evaluate": ("run.evaluate", "Execute samples in sandboxes and score them."),
    "sanitize": (
        "samples.sanitize",
        "Write a sample file whose `solution` is the program in each answer, ready for `bigcodeflow evaluate`.",
    ),
    "syncheck": (
        "samples.syncheck",
        "List the solutions that are no valid Python, with message and line. Exit code 1 when there are any.",
    ),
    "import": (
        "importing.import_results",
        "Record result files of the original evaluator as runs: for the catalog, compare, inspect and report.",
    ),
    "inspect": (
        "inspect.inspect",
        "List the samples of a recorded run that failed, or tell the whole story of a task's samples.",
    ),
    "compare": (
        "compare.compare",
        "Compare runs on the tasks that they share: differences with 95 % intervals, tests, ratings, costs.",
    ),
    "perturb": (
        "perturb.app",
        "Variants of tasks that mean the same: robust models solve both.",
    ),
    "contamination": (
        "studies",
        "Say which tasks' prompts, solutions and tests stand in a corpus, word by word or nearly so.",
    ),
    "plan": (
        "compare.plan",
        "Tell how many tasks and samples a difference of two models in pass@1 needs, or which one they can find.",
    ),
    "recommend": (
        "recommend.recommend",
        "Rank recorded and imported models on the tasks that use a project's libraries, with intervals, cost and time.",
    ),
    "evolution": (
        "studies",
        "Label tasks in an environment of newer libraries, and score recorded runs there.",
    ),
    "report": (
        "store.report",
        "Write one HTML file about a run, a sweep or a comparison: scores, charts, and every sample with its traces.",
    ),
    "export": (
        "export.app",
        "Write a recorded run in the format of another program, or send it there. See docs/exporting.md.",
    ),
    "explore": (
        "explore.explore",
        "Show the runs of a store in the browser: those recorded, those in progress, trends, comparisons, samples.",
    ),
    "catalog": ("store.catalog", "Build the catalog of a store anew, and say where it is and what it shows."),
    "up": (
        "service.up",
        "Start a Prefect server and a worker here, and register all deployments; return when runs can be triggered.",
    ),
    "status": (
        "service.status",
        "Say what of the service runs, where, and what it has registered. Exit code 1 unless runs would be taken up.",
    ),
    "down": (
        "service.down",
        "Stop what `bigcodeflow up` started: runs, then the worker, then the server. Database and results stay.",
    ),
    "clean": ("store.clean", "List what may go from a store, and with --delete remove it."),
    "serve": (
        "service.serve",
        "Execute programs for others: batches in over HTTP, one verdict a line out. Stop it with Ctrl-C or SIGTERM.",
    ),
    "audit": (
        "audit.app",
        "Audit tasks: mutants of the reference solutions, contradicted tests, what models and executions tell.",
    ),
    "doctor": (
        "env.doctor",
        "Check packages, system programs, sandbox environments, the isolation they have here, and recorded runs.",
    ),
    "dataset": ("dataset.app", "Show tasks, or validate a task file."),
    "cheating": (
        "cheating.app",
        "How a model answers tasks whose shown tests contradict their descriptions. See docs/cheating.md.",
    ),
    "leaderboard": ("leaderboard.app", "Recorded runs beside BigCodeBench's published figures."),
    "env": (
        "env.app",
        "Environments: the foreign Pythons in which solutions run (sandbox) and open models answer (engine).",
    ),
}


class _Command(TyperCommand):
    """Command whose module is imported when the command is called, not when it is listed."""

    def load(self) -> Any:
        """Import the command's module and return the real command, with its options."""
        name = str(self.name)
        module, _, attribute = _COMMANDS.get(name, ("studies", ""))[0].partition(".")
        found: Any = import_module(f"bigcodeflow.cli.{module}")
        found = getattr(found, attribute) if attribute else found.study_command(name)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False)
            found.command(name)(function)
        command = typer.main.get_command(found)
        command.name = name
        return with_examples(command, name)

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        return self.load().make_context(*arguments, **named)


class _CommandInterruptedError(Exception):
    """Ctrl-C, with a message about the state it leaves; typer would end a KeyboardInterrupt without a message."""


class _Group(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _Command(name, help=text) for name, (_, text) in _COMMANDS.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_foreign_studies()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add_foreign_studies()
        return super().get_command(ctx, cmd_name)

    def _add_foreign_studies(self) -> None:
        """Add the commands of studies that other distributions bring."""
        from bigcodeflow.core.plugins import foreign_studies  # slow: reads the metadata of all distributions

        for name, study in foreign_studies().items():
            if study.settings is not None:
                self.commands.setdefault(name, _Command(name, help=study.description))

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
    """Let this process and its child processes print ``?`` for characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    encoding = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    os.environ["PYTHONIOENCODING"] = f"{encoding}:replace"


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 a reported problem, 2 a wrong command line, 130 Ctrl-C."""
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
        typer.echo(str(interruption) or "stopped", err=True)
        sys.exit(130)
