"""The `bigcodeflow` command: assembles the commands and turns user errors into one line without a traceback."""

import sys
from typing import Annotated

import typer

import bigcodeflow
from bigcodeflow.cli import (
    compare,
    dataset,
    doctor,
    env,
    generate,
    importing,
    inspect,
    leaderboard,
    plan,
    run,
    sanitize,
    serve,
    service,
    store,
    sweep,
)
from bigcodeflow.cli.console import notices
from bigcodeflow.core.errors import BigCodeFlowError

app = typer.Typer(
    name="bigcodeflow",
    help="Run BigCodeBench as a resumable pipeline: load tasks, ask models, sanitize answers, execute and score them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.command("generate")(generate.generate)
app.command("evaluate")(run.evaluate)
app.command("sanitize")(sanitize.sanitize)
app.command("syncheck")(sanitize.syncheck)
app.add_typer(dataset.app, name="dataset")
app.command("import")(importing.import_results)
app.command("inspect")(inspect.inspect)
app.command("compare")(compare.compare)
app.command("plan")(plan.plan)
app.command("report")(store.report)
app.add_typer(leaderboard.app, name="leaderboard")
app.command("catalog")(store.catalog)
app.command("up")(service.up)
app.command("status")(service.status)
app.command("down")(service.down)
app.command("clean")(store.clean)
app.command("serve")(serve.serve)
app.add_typer(env.app, name="env")
app.command("doctor")(doctor.doctor)


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
        notices.print("[bold red]error:[/bold red]", end=" ")
        notices.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        notices.print("stopped; what is finished is kept: run the same command again to go on")
        sys.exit(130)
