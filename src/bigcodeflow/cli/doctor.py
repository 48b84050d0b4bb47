"""`bigcodeflow doctor`: what is installed, what works, and what to do about the rest."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.table import Table

from bigcodeflow import environments
from bigcodeflow.cli.console import notices, out
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError, SandboxUnavailableError

_PACKAGES = ("prefect", "dask", "distributed", "duckdb", "numpy", "pyarrow", "huggingface-hub")


class Finding(NamedTuple):
    """One thing looked at."""

    what: str
    works: bool
    told: str
    unsafe: bool = False
    """Whether generated code cannot be isolated because of it."""


def doctor(
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what does not work.")] = False,
    store: RecordedStore = Path("results/store"),
) -> None:
    """Check packages, system programs, sandbox environments, the isolation they really have here, and recorded runs.

    A recorded run is named where its model was asked the prompts of another split than it is recorded with. Exit code 1
    when the sandbox cannot be used.
    """
    findings = [*_packages(), *_programs(), *_environments(), *_recorded_runs(store)]
    table = Table("", "what", "found")
    for finding in findings:
        if not (quiet and finding.works):
            table.add_row("[green]✓[/green]" if finding.works else "[red]✗[/red]", finding.what, finding.told)
    if table.row_count:
        out.print(table)
    if any(finding.unsafe for finding in findings):
        notices.print("generated code cannot be isolated on this machine until bubblewrap works")
        raise typer.Exit(1)


def _packages() -> Iterator[Finding]:
    for name in _PACKAGES:
        try:
            yield Finding(f"package {name}", works=True, told=metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(f"package {name}", works=False, told="missing: reinstall bigcodeflow")


def _programs() -> Iterator[Finding]:
    for name, package in (
        ("bwrap", "bubblewrap"),
        ("zip", "zip"),
        ("unzip", "unzip"),
        ("ps", "procps"),
        ("gcc", "gcc"),
        ("g++", "g++"),
    ):
        path = shutil.which(name)
        told = path or f"missing: apt-get install {package}"
        yield Finding(package, works=path is not None, told=told, unsafe=path is None and name == "bwrap")


def _environments() -> Iterator[Finding]:
    from bigcodeflow.execution.backends.local import LocalBackend

    for name in environments.definition_names():
        try:
            environment = environments.find_environment(name)
            with closing(LocalBackend(environment, LimitsConfig(), warm=True)) as backend:
                layers = backend.check().layers
        except BigCodeFlowError as error:
            unsafe = isinstance(error, SandboxUnavailableError)
            yield Finding(f"sandbox environment {name}", works=False, told=str(error), unsafe=unsafe)
        else:
            yield Finding(f"sandbox environment {name}", works=True, told="isolated by: " + "; ".join(layers))


def _recorded_runs(store: Path) -> Iterator[Finding]:
    from bigcodeflow.results.runs import recorded_runs, split_mismatch
    from bigcodeflow.store import open_store

    try:
        runs = recorded_runs(store)
        mismatches = {run.record: told for run in runs if (told := split_mismatch(run))}
    except BigCodeFlowError as error:
        yield Finding(f"recorded runs of {open_store(store).location}", works=False, told=str(error))
        return
    for record, told in mismatches.items():
        remedy = f"run it again, which asks for the missing answers, and delete runs/{record}.json in the store"
        yield Finding(f"recorded run {record}", works=False, told=f"{told}: {remedy}")
    if runs and not mismatches:
        yield Finding("recorded runs", works=True, told=f"{len(runs):,}, each asked the prompts of its split")
