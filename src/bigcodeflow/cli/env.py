"""`bigcodeflow env`: build, list, check and remove sandbox environments."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table

from bigcodeflow import environments
from bigcodeflow.cli.console import notices, out, progress_listener
from bigcodeflow.config import RunConfig, load_settings

app = typer.Typer(help="Sandbox environments: the foreign Pythons in which solutions run.", no_args_is_help=True)

_NAME_HELP = "Name of the environment: bigcodebench or starter."


@app.command()
def build(
    name: Annotated[str, typer.Argument(help=_NAME_HELP)],
    nltk_data: Annotated[
        Path | None,
        typer.Option(
            help="Folder that already holds the environment's data files; the others are downloaded.",
            envvar="BIGCODEFLOW_NLTK_DATA",
        ),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start from nothing.")] = False,
) -> None:
    """Build an environment outside the repository; an interrupted build goes on where it stopped."""
    definition = environments.load_definition(name)

    def say(line: str) -> None:
        notices.print(f"  {line}", markup=False, soft_wrap=True)

    built = environments.build_environment(definition, say=say, data_folder=nltk_data, rebuild=rebuild)
    notices.print(
        f"sandbox environment {name} is ready: {built.root} (sha {built.environment_sha[:12]})", soft_wrap=True
    )
    for path in built.missing_data:
        notices.print(f"  without {path}: tasks that read it cannot be judged", soft_wrap=True)


@app.command("list")
def list_environments() -> None:
    """List what is defined and what is built."""
    built = environments.installed_environments()
    table = Table("name", "environment_sha", "state", Column("folder", overflow="fold"))
    for name in environments.definition_names():
        definition = environments.load_definition(name)
        mine = [environment for environment in built if environment.name == name]
        for environment in mine:
            current = environment.root.name.endswith(definition.key[: environments.FOLDER_DIGITS])
            state = "built" if current else "outdated"
            table.add_row(name, environment.environment_sha[:12], state, str(environment.root))
        if not mine:
            table.add_row(name, "", "not built", f"bigcodeflow env build {name}")
    out.print(table)


@app.command()
def check(
    name: Annotated[str, typer.Argument(help=_NAME_HELP)],
    dataset: Annotated[
        str, typer.Option(help="Tasks whose ground truths are executed. [default: the environment's own]")
    ] = "",
    subset: Annotated[str, typer.Option(help="full or hard")] = "full",
    ids: Annotated[str, typer.Option(help="Only these task numbers or ids, such as 1,5-9.")] = "",
    workers: Annotated[int, typer.Option(min=0, help="Dask worker processes; 0 takes one a core.")] = 0,
    store: Annotated[Path, typer.Option(help="Folder of cached artifacts.", envvar="BIGCODEFLOW_STORE")] = Path(
        "results/store"
    ),
) -> None:
    """Import the libraries, execute the ground truths, and say which tasks this environment cannot judge, and why.

    Exit code 1 when a library or a task is wanting.
    """
    source = dataset or ("starter" if name == "starter" else "bigcode/bigcodebench")
    given = {
        "store": str(store),
        "dataset": {"source": source, "subset": subset, "ids": ids},
        "samples": {"source": "oracle"},
        "execution": {"environment": name, "workers": workers},
    }
    config = load_settings(given, "command line")
    if not all([_report_imports(name), _report_ground_truths(config)]):
        raise typer.Exit(1)


@app.command()
def remove(name: Annotated[str, typer.Argument(help=_NAME_HELP)]) -> None:
    """Delete every build of an environment."""
    for folder in environments.remove_environment(name):
        notices.print(f"removed {folder}", soft_wrap=True)


def _report_imports(name: str) -> bool:
    from bigcodeflow.execution.environment_check import failing_imports

    modules = environments.load_definition(name).imports
    failures = failing_imports(environments.find_environment(name), modules)
    for module, error in failures.items():
        out.print(f"{module} cannot be imported: {error}", markup=False, soft_wrap=True)
    notices.print(f"{len(modules) - len(failures)} of {len(modules)} libraries can be imported")
    return not failures


def _report_ground_truths(config: RunConfig) -> bool:
    from bigcodeflow import stages
    from bigcodeflow.artifacts import Store
    from bigcodeflow.execution.environment_check import unjudgeable_tasks

    store = Store(config.store)
    with progress_listener() as listener:
        dataset = stages.perform(stages.dataset_stage(config), store, listener)
        truths = stages.perform(stages.ground_truth_stage(config, dataset), store, listener)
    unjudgeable = unjudgeable_tasks(store.read(truths))
    if unjudgeable:
        table = Table("task", "status", "needs", "told")
        for task in unjudgeable:
            table.add_row(task.task_id, task.status, task.reason, task.evidence)
        out.print(table)
    notices.print(
        f"{truths.rows - len(unjudgeable):,} of {truths.rows:,} tasks can be judged in {config.execution.environment}"
    )
    return not unjudgeable
