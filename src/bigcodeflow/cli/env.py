"""Environments: separate Pythons in which solutions are executed (sandbox) and open models answer (engine)."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, notices, out, print_line, print_table
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import EnvironmentCheckConfig, LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, SandboxUnavailableError
from bigcodeflow.core.plugins import load_plugin
from bigcodeflow.core.settings import SettingOption, validated
from bigcodeflow.core.table import Cell, Table
from bigcodeflow.judge import environments
from bigcodeflow.judge.environments import environment_folder, remove_environment
from bigcodeflow.judge.environments.build import build_environment
from bigcodeflow.judge.environments.wheels import export_wheels

if TYPE_CHECKING:
    from bigcodeflow.judge.integrity.contradictions import Coverage

app = typer.Typer(help=__doc__, no_args_is_help=True)

_PACKAGES = ("prefect", "dask", "distributed", "duckdb", "numpy", "pyarrow", "huggingface-hub")
#: Program → Debian package.
_PROGRAMS = {"bwrap": "bubblewrap", "zip": "zip", "unzip": "unzip", "ps": "procps", "gcc": "gcc", "g++": "g++"}
_image_option = partial(typer.Option, rich_help_panel="Images and templates")
_Name = Annotated[
    str,
    typer.Argument(help="Name of the environment, such as starter, bigcodebench or vllm; see `bigcodeflow env list`."),
]


@app.command()
def build(
    name: _Name,
    backend: Annotated[
        Literal["local", "docker", "e2b"],
        typer.Option(help="Build it on this machine, as an image of Docker or Podman, or as a template of E2B."),
    ] = "local",
    nltk_data: Annotated[
        Path | None,
        typer.Option(
            help="Folder that already holds the environment's data files; the others are downloaded.",
            envvar="BIGCODEFLOW_NLTK_DATA",
        ),
    ] = None,
    find_links: Annotated[
        list[str] | None,
        typer.Option(help="Folder or URL with wheels, such as a folder of `env export`; repeatable."),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start from nothing.")] = False,
    base_image: Annotated[
        str, _image_option(help="The environment's Python on Debian bookworm.", show_default="the official image")
    ] = "",
    engine_url: Annotated[
        str, _image_option(help="Address of the engine for images.", show_default="DOCKER_HOST, or Docker's own")
    ] = "",
    secrets: Annotated[
        list[str] | None,
        _image_option(
            "--secret",
            help="NAME=FILE that an image's build is lent, in no layer: pip (pip.conf), uv (uv.toml), certificates.",
        ),
    ] = None,
    network: Annotated[str, _image_option(help="Network of an image's build, such as host.")] = "",
    cores: Annotated[int, _image_option(min=1, help="Cores of a template's sandboxes.")] = 2,
    memory_mib: Annotated[int, _image_option(min=512, help="Memory of a template's sandboxes, in MiB.")] = 8192,
) -> None:
    """Build an environment outside the repository; an interrupted build goes on where it stopped.

    Images and templates are built from deployments/sandbox/Dockerfile of a checkout, with the same libraries as here.
    """
    definition = environments.load_definition(name)
    shared: dict[str, Any] = {"on_line": lambda line: notice(f"  {line}"), "data_folder": nltk_data, "rebuild": rebuild}
    if find_links and backend != "local":
        raise ConfigError(f"--find-links is for builds on this machine: leave it out with --backend {backend}")
    if backend == "docker":
        build_there = load_plugin("bigcodeflow_hosts.images:build_image", "--backend docker")
        files = _secret_files(secrets or ())
        image = build_there(definition, url=engine_url, secrets=files, network=network, base_image=base_image, **shared)
        notice(f"image {image.tag} is ready ({image.image_id[:19]})")
    elif backend == "e2b":
        build_there = load_plugin("bigcodeflow_hosts.images:build_template", "--backend e2b")
        template = build_there(definition, cores=cores, memory_mib=memory_mib, base_image=base_image, **shared)
        notice(f"template {template.name} is ready ({template.template_id})")
    else:
        built = build_environment(definition, find_links=find_links or (), **shared)
        sha = built.environment_sha[:12]
        notice(f"{definition.purpose} environment {definition.name} is ready: {built.root} (sha {sha})")
        for path in built.missing_data:
            notice(f"  without {path}: tasks that read it cannot be judged")


def _secret_files(secrets: Sequence[str]) -> dict[str, Path]:
    files = {}
    for text in secrets:
        name, _, file = text.partition("=")
        if not (name and Path(file).is_file()):
            raise ConfigError(f"--secret {text!r} must be NAME=FILE with an existing file, such as pip=/etc/pip.conf")
        files[name] = Path(file)
    return files


@app.command()
def export(
    name: _Name,
    folder: Annotated[Path, typer.Argument(help="Folder for the wheels, and for a file with their hashes.")],
) -> None:
    """Write the wheels that were compiled for an environment, so that `env build --find-links` elsewhere can use them.

    The other machine needs the same architecture, and system libraries that are not older.
    """
    environment = environments.find_environment(name, environments.load_definition(name).purpose)
    for path in export_wheels(environment, folder):
        print_line(path)


@app.command("list")
def list_environments() -> None:
    """List the defined environments, and which of them are built here."""
    built = environments.installed_environments()
    rows: list[tuple[str, ...]] = []
    for name in environments.definition_names(None):
        definition = environments.load_definition(name)
        mine = [environment for environment in built if environment.name == name]
        for environment in mine:
            current = environment.root == environment_folder(definition)
            state, sha = "built" if current else "outdated", environment.environment_sha[:12]
            rows.append((name, definition.purpose, sha, state, str(environment.root)))
        if not mine:
            rows.append((name, definition.purpose, "", "not built", f"bigcodeflow env build {name}"))
    out.print(Table.of(("name", "purpose", "environment_sha", "state", "folder"), rows))


@app.command()
@settings_options(
    SettingOption("dataset", shown="the environment's own", help="Tasks whose ground truths are executed."),
    "subset",
    "ids",
    "workers",
    "store",
    "repeat",
    "controls",
    model=EnvironmentCheckConfig,
)
def check(name: _Name, given: dict[str, Any], settings: options.Overrides = None) -> None:
    """Check which tasks an environment can judge, and whether its verdicts can be trusted.

    The command imports the libraries. It executes the ground truths and names the tasks that cannot be judged, and why.
    It judges the controls: canonical solutions must pass, stubs and cheats must fail, and exactly the expected tests
    must run. It counts the tests with a contradiction, against which passes are checked. All results are cached. With
    --repeat, ground truths are executed again and counted in the environment's quarantine list, which runs then use
    (execution.quarantine); after an interruption, the same command continues.

    Exit code 1 if a library is missing, a task cannot be judged, or a control fails.
    """
    # Not at the top: images of sandboxes have only the packages that the build of an environment imports.
    from bigcodeflow.execution.environment_check import wording
    from bigcodeflow.pipeline.environment_check import (
        EnvironmentCheck,
        EnvironmentCheckResult,
        check_imports,
        check_settings,
    )
    from bigcodeflow.pipeline.progress import progress_listener

    values = {**given, "environment": name, "overrides": settings or ()}
    config = validated(EnvironmentCheckConfig, values, "command line")
    run, imports = check_settings(config), check_imports(name)
    for module, error in imports.failures.items():
        print_line(f"{module} cannot be imported: {error}")
    notice(f"{imports.modules - len(imports.failures)} of {imports.modules} libraries can be imported")
    with progress_listener() as listener:
        checked = EnvironmentCheck(run, listener)
        found = EnvironmentCheckResult(config, imports, checked.n_tasks, checked.unjudgeable(), ())
        print_table(found.unjudgeable_table)
        notice(f"{found.n_tasks - len(found.unjudgeable):,} of {found.n_tasks:,} tasks can be judged in {name}")
        found = found._replace(controls=checked.controls(adversaries=config.controls))
        for line in chain.from_iterable(map(wording, found.controls)):
            print_line(line)
        if config.controls:
            _print_contradictions(checked.contradictions())
        if config.repeat:
            repeated = checked.repeat(config.repeat)
            print_table(repeated.table)
            counted = f"{len(repeated.suspects):,} of {len(repeated.rows):,} tasks"
            print_line(f"quarantine: {counted}, after {repeated.executions:,} executions in all")
            notice(f"list       {repeated.path}")
    if imports.failures or found.unjudgeable or any(control.offences for control in found.controls):
        raise typer.Exit(1)


def _print_contradictions(found: "Sequence[Coverage]") -> None:
    n_tests, contradicted = sum(one.tests for one in found), sum(one.contradicted for one in found)
    without = [(one.task_id, one.tests, one.reason) for one in found if one.reason]
    print_table(Table.of(("task", "tests", "why its passes cannot be checked"), without))
    counted = f"{len(found) - len(without):,} of {len(found):,} tasks, {contradicted:,} of {n_tests:,} test methods"
    print_line(f"contradictions: {counted}")
    separated = sum(one.separated for one in found)
    print_line(f"separated: {sum(one.separated > 0 for one in found):,} tasks, {separated:,} test methods")


@app.command()
def remove(name: _Name) -> None:
    """Delete every build of an environment."""
    for folder in remove_environment(name):
        notice(f"removed {folder}")


class Diagnosis(NamedTuple):
    """Result of one check of `doctor`."""

    subject: str
    works: bool
    details: str
    unsafe: bool = False
    """True if the failed check means that generated code cannot be isolated."""


def doctor(
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what does not work.")] = False,
    store: options.RecordedStore = "results/store",
) -> None:
    """Check packages, system programs, sandbox environments, the isolation they have here, and recorded runs.

    A recorded run is named if its model was asked the prompts of another split than the recorded split. Exit code 1 if
    the sandbox cannot be used.
    """
    found = [*_machine(), *_environments(), *_recorded_runs(store)]
    marks = {True: Cell("✓", "good"), False: Cell("✗", "bad")}
    rows = [(marks[one.works], one.subject, one.details) for one in found if not (quiet and one.works)]
    print_table(Table.of(("", "what", "found"), rows))
    if any(one.unsafe for one in found):
        notices.print("generated code cannot be isolated on this machine until bubblewrap works")
        raise typer.Exit(1)


def _machine() -> Iterator[Diagnosis]:
    for name in _PACKAGES:
        try:
            yield Diagnosis(f"package {name}", works=True, details=metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Diagnosis(f"package {name}", works=False, details="missing: reinstall bigcodeflow")
    for name, package in _PROGRAMS.items():
        path = shutil.which(name)
        details = path or f"missing: apt-get install {package}"
        yield Diagnosis(package, works=path is not None, details=details, unsafe=path is None and name == "bwrap")


def _environments() -> Iterator[Diagnosis]:
    from bigcodeflow.judge.host.local import LocalBackend

    for name in environments.definition_names():
        subject = f"sandbox environment {name}"
        try:
            environment = environments.find_environment(name)
            with closing(LocalBackend(environment, LimitsConfig(), warm=True)) as backend:
                found = backend.check()
        except BigCodeFlowError as error:
            unsafe = isinstance(error, SandboxUnavailableError)
            yield Diagnosis(subject, works=False, details=str(error), unsafe=unsafe)
        else:
            details = f"isolated by: {'; '.join(found.layers)}. Shared: {'; '.join(found.open_channels)}"
            yield Diagnosis(subject, works=True, details=details)


def _recorded_runs(store: str) -> Iterator[Diagnosis]:
    from bigcodeflow.results.runs import recorded_runs, split_mismatch
    from bigcodeflow.store import open_store

    try:
        runs = recorded_runs(store)
        mismatches = {run.record: mismatch for run in runs if (mismatch := split_mismatch(run))}
    except BigCodeFlowError as error:
        yield Diagnosis(f"recorded runs of {open_store(store).location}", works=False, details=str(error))
        return
    for record, mismatch in mismatches.items():
        remedy = f"run it again, which asks for the missing answers, and delete runs/{record}.json in the store"
        yield Diagnosis(f"recorded run {record}", works=False, details=f"{mismatch}: {remedy}")
    if runs and not mismatches:
        yield Diagnosis("recorded runs", works=True, details=f"{len(runs):,}, each asked the prompts of its split")
