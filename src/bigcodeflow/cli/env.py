"""`bigcodeflow env`: build, list, check and remove environments."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bigcodeflow import environments
from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, out, print_line, print_table
from bigcodeflow.cli.options import SettingOption, settings_options
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.table import Column, Table
from bigcodeflow.pipeline.progress import progress_listener

if TYPE_CHECKING:
    from bigcodeflow.pipeline.environment_check import EnvironmentCheck

app = typer.Typer(
    help="Environments: the foreign Pythons in which solutions run (sandbox) and open models answer (engine).",
    no_args_is_help=True,
)

_ELSEWHERE = "Images and templates"
_Name = Annotated[
    str,
    typer.Argument(help="Name of the environment, such as starter, bigcodebench or vllm; see `bigcodeflow env list`."),
]
_DataFolder = Annotated[
    Path | None,
    typer.Option(
        help="Folder that already holds the environment's data files; the others are downloaded.",
        envvar="BIGCODEFLOW_NLTK_DATA",
    ),
]
_BaseImage = Annotated[
    str,
    typer.Option(
        help="Python of the environment's version on Debian bookworm.",
        show_default="the official image",
        rich_help_panel=_ELSEWHERE,
    ),
]
_EngineUrl = Annotated[
    str,
    typer.Option(
        help="Address of the engine for images.",
        show_default="DOCKER_HOST, or Docker's own",
        rich_help_panel=_ELSEWHERE,
    ),
]
_Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        help="NAME=FILE that an image's build is lent, in no layer: pip (pip.conf), uv (uv.toml), certificates.",
        rich_help_panel=_ELSEWHERE,
    ),
]


@app.command()
def build(
    name: _Name,
    backend: Annotated[
        Literal["local", "docker", "e2b"],
        typer.Option(help="Build it on this machine, as an image of Docker or Podman, or as a template of E2B."),
    ] = "local",
    nltk_data: _DataFolder = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start from nothing.")] = False,
    base_image: _BaseImage = "",
    engine_url: _EngineUrl = "",
    secrets: _Secrets = None,
    network: Annotated[
        str, typer.Option(help="Network of an image's build, such as host.", rich_help_panel=_ELSEWHERE)
    ] = "",
    cores: Annotated[int, typer.Option(min=1, help="Cores of a template's sandboxes.", rich_help_panel=_ELSEWHERE)] = 2,
    memory_mib: Annotated[
        int, typer.Option(min=512, help="Memory of a template's sandboxes, in MiB.", rich_help_panel=_ELSEWHERE)
    ] = 8192,
) -> None:
    """Build an environment outside the repository; an interrupted build goes on where it stopped.

    Images and templates come out of deployments/sandbox/Dockerfile, in a checkout, and have the same libraries as here.
    """
    definition = environments.load_definition(name)
    shared: dict[str, Any] = {"on_line": lambda line: notice(f"  {line}"), "data_folder": nltk_data, "rebuild": rebuild}
    if backend == "docker":
        from bigcodeflow.environments.images import build_image

        files = _secret_files(secrets or ())
        image = build_image(definition, url=engine_url, secrets=files, network=network, base_image=base_image, **shared)
        notice(f"image {image.tag} is ready ({image.image_id[:19]})")
    elif backend == "e2b":
        from bigcodeflow.environments.images import build_template

        template = build_template(definition, cores=cores, memory_mib=memory_mib, base_image=base_image, **shared)
        notice(f"template {template.name} is ready ({template.template_id})")
    else:
        built = environments.build_environment(definition, **shared)
        sha = built.environment_sha[:12]
        notice(f"{definition.purpose} environment {definition.name} is ready: {built.root} (sha {sha})")
        for path in built.missing_data:
            notice(f"  without {path}: tasks that read it cannot be judged")


def _secret_files(secrets: Sequence[str]) -> dict[str, Path]:
    files = {}
    for text in secrets:
        name, _, file = text.partition("=")
        if not (name and Path(file).is_file()):
            raise ConfigError(f"--secret {text!r} is no NAME=FILE with a file that is there, such as pip=/etc/pip.conf")
        files[name] = Path(file)
    return files


@app.command("list")
def list_environments() -> None:
    """List what is defined and what is built."""
    built = environments.installed_environments()
    rows: list[tuple[str, ...]] = []
    for name in environments.definition_names(None):
        definition = environments.load_definition(name)
        mine = [environment for environment in built if environment.name == name]
        for environment in mine:
            current = environment.root.name.endswith(definition.key[: environments.FOLDER_DIGITS])
            state, sha = "built" if current else "outdated", environment.environment_sha[:12]
            rows.append((name, definition.purpose, sha, state, str(environment.root)))
        if not mine:
            rows.append((name, definition.purpose, "", "not built", f"bigcodeflow env build {name}"))
    out.print(Table.of(("name", "purpose", "environment_sha", "state", "folder"), rows))


@app.command()
@settings_options(
    SettingOption(
        "dataset.source", "dataset", shown="the environment's own", help="Tasks whose ground truths are executed."
    ),
    options.SUBSET,
    options.IDS,
    options.WORKERS,
    options.STORE,
)
def check(
    name: _Name,
    given: dict[str, Any],
    repeat: Annotated[
        int,
        typer.Option(
            min=0,
            max=1000,
            help="Execute every ground truth so many times afresh, and put tasks that fail any of them in quarantine.",
        ),
    ] = 0,
    controls: Annotated[
        bool, typer.Option(help="Judge a stub and a cheat for every task too, which must never pass.")
    ] = True,
    settings: options.Overrides = None,
) -> None:
    """Say what an environment can judge, and whether its verdicts can be trusted.

    Imports the libraries; executes the ground truths and says which tasks cannot be judged, and why; judges the
    controls: canonical solutions must pass, stubs and cheats must not, and exactly the expected tests must run; says of
    how many tests there is a contradiction, with which passes are checked. All is cached. With --repeat, ground truths
    are executed afresh and counted in the environment's quarantine list, which every run then takes note of
    (execution.quarantine); stopped, the same command goes on where it was.

    Exit code 1 when a library or a task is wanting, or a control does not hold.
    """
    from bigcodeflow.core.settings import validated
    from bigcodeflow.pipeline.environment_check import EnvironmentCheck, EnvironmentCheckConfig, check_settings

    values = {path.partition(".")[2] or path: value for path, value in given.items()}
    values["dataset"] = values.pop("source", "")
    values |= {"environment": name, "overrides": settings or ()}
    config = check_settings(validated(EnvironmentCheckConfig, values, "command line"))
    sound = [_report_imports(name)]
    with progress_listener() as listener:
        checked = EnvironmentCheck(config, listener)
        sound.append(_report_ground_truths(checked, name))
        sound.append(_report_controls(checked, adversaries=controls))
        if controls:
            _report_contradictions(checked)
        if repeat:
            _report_repetitions(checked, repeat)
    if not all(sound):
        raise typer.Exit(1)


def _report_imports(name: str) -> bool:
    """Name the libraries that cannot be imported; true where there are none."""
    from bigcodeflow.pipeline.environment_check import check_imports

    imports = check_imports(name)
    for module, error in imports.failures.items():
        print_line(f"{module} cannot be imported: {error}")
    notice(f"{imports.modules - len(imports.failures)} of {imports.modules} libraries can be imported")
    return not imports.failures


def _report_ground_truths(checked: "EnvironmentCheck", name: str) -> bool:
    """Name the tasks that cannot be judged; true where there are none."""
    unjudgeable = checked.unjudgeable()
    rows = [(task.task_id, task.status, task.reason, task.evidence) for task in unjudgeable]
    print_table(Table.of(("task", "status", "needs", "evidence"), rows))
    notice(f"{checked.n_tasks - len(unjudgeable):,} of {checked.n_tasks:,} tasks can be judged in {name}")
    return not unjudgeable


def _report_controls(checked: "EnvironmentCheck", *, adversaries: bool) -> bool:
    """One line a control; true where all hold. The oracle's failures are the tasks that cannot be judged."""
    from bigcodeflow.execution.environment_check import wording

    results = checked.controls(adversaries=adversaries)
    for result in results:
        for line in wording(result):
            print_line(line)
    return not any(result.offences for result in results)


def _report_contradictions(checked: "EnvironmentCheck") -> None:
    """How many tasks and test methods can be contradicted, and the tasks whose passes cannot be checked."""
    found = checked.contradictions()
    tests, contradicted = sum(one.tests for one in found), sum(one.contradicted for one in found)
    without = [one for one in found if one.reason]
    rows = [(one.task_id, one.tests, one.reason) for one in without]
    print_table(Table.of(("task", "tests", "why its passes cannot be checked"), rows))
    counted = f"{len(found) - len(without):,} of {len(found):,} tasks, {contradicted:,} of {tests:,} test methods"
    print_line(f"contradictions: {counted}")
    separated = sum(one.separated for one in found)
    print_line(f"separated: {sum(one.separated > 0 for one in found):,} tasks, {separated:,} test methods")


def _report_repetitions(checked: "EnvironmentCheck", times: int) -> None:
    """Execute the ground truths afresh, and show the tasks in quarantine."""
    repeated = checked.repeat(times)
    passes = Column("passes", format=lambda row: f"{row['passes']:,} of {row['executions']:,}")
    rows = [(row["task_id"], row, row["statuses"], row["reason"], row["evidence"]) for row in repeated.suspects]
    print_table(Table.of(("task", passes, "statuses", "needs", "evidence"), rows))
    counted = f"{len(repeated.suspects):,} of {len(repeated.rows):,} tasks"
    print_line(f"quarantine: {counted}, after {repeated.executions:,} executions in all")
    notice(f"list       {repeated.path}")


@app.command()
def remove(name: _Name) -> None:
    """Delete every build of an environment."""
    for folder in environments.remove_environment(name):
        notice(f"removed {folder}")
