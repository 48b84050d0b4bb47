"""`bigcodeflow doctor`: what is installed, what works, and what to do about the rest."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from typing import Annotated, NamedTuple

import typer

from bigcodeflow import environments
from bigcodeflow.cli.console import notices, print_table
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError, SandboxUnavailableError
from bigcodeflow.core.table import Cell, Table

_PACKAGES = ("prefect", "dask", "distributed", "duckdb", "numpy", "pyarrow", "huggingface-hub")
#: Program → Debian package.
_PROGRAMS = {"bwrap": "bubblewrap", "zip": "zip", "unzip": "unzip", "ps": "procps", "gcc": "gcc", "g++": "g++"}


class Diagnosis(NamedTuple):
    """One thing that was checked."""

    subject: str
    works: bool
    details: str
    unsafe: bool = False
    """Whether generated code cannot be isolated because of it."""


def doctor(
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what does not work.")] = False,
    store: RecordedStore = "results/store",
) -> None:
    """Check packages, system programs, sandbox environments, the isolation they really have here, and recorded runs.

    A recorded run is named where its model was asked the prompts of another split than it is recorded with. Exit code 1
    when the sandbox cannot be used.
    """
    found = [*_packages(), *_programs(), *_environments(), *_recorded_runs(store)]
    rows = [
        (Cell("✓", "good") if one.works else Cell("✗", "bad"), one.subject, one.details)
        for one in found
        if not (quiet and one.works)
    ]
    print_table(Table.of(("", "what", "found"), rows))
    if any(one.unsafe for one in found):
        notices.print("generated code cannot be isolated on this machine until bubblewrap works")
        raise typer.Exit(1)


def _packages() -> Iterator[Diagnosis]:
    for name in _PACKAGES:
        try:
            yield Diagnosis(f"package {name}", works=True, details=metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Diagnosis(f"package {name}", works=False, details="missing: reinstall bigcodeflow")


def _programs() -> Iterator[Diagnosis]:
    for name, package in _PROGRAMS.items():
        path = shutil.which(name)
        details = path or f"missing: apt-get install {package}"
        yield Diagnosis(package, works=path is not None, details=details, unsafe=path is None and name == "bwrap")


def _environments() -> Iterator[Diagnosis]:
    from bigcodeflow.execution.backends.local import LocalBackend

    for name in environments.definition_names():
        subject = f"sandbox environment {name}"
        try:
            environment = environments.find_environment(name)
            with closing(LocalBackend(environment, LimitsConfig(), warm=True)) as backend:
                layers = backend.check().layers
        except BigCodeFlowError as error:
            unsafe = isinstance(error, SandboxUnavailableError)
            yield Diagnosis(subject, works=False, details=str(error), unsafe=unsafe)
        else:
            yield Diagnosis(subject, works=True, details="isolated by: " + "; ".join(layers))


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
