"""Environments that are built on this machine: where they lie, what they are, and how to be rid of them."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.environments.definition import EnvironmentDefinition, Purpose, definition_names, load_definition

MANIFEST = "environment.json"
LOCK = "requirements.lock"
FOLDER_DIGITS = 16


@dataclass(frozen=True, slots=True)
class InstalledEnvironment:
    """A built environment; picklable, so that workers can be told of it."""

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


def environments_root() -> Path:
    """Folder of all environments: BIGCODEFLOW_ENVIRONMENTS, or bigcodeflow/environments in the user's cache."""
    told = os.environ.get("BIGCODEFLOW_ENVIRONMENTS")
    if told:
        return Path(told).expanduser().resolve()
    return cache_folder() / "environments"


def environment_folder(definition: EnvironmentDefinition) -> Path:
    """Where a definition's environment lies, or would lie."""
    return environments_root() / f"{definition.name}-{definition.key[:FOLDER_DIGITS]}"


def read_manifest(root: Path) -> InstalledEnvironment | None:
    """The environment in a folder, or None while it is unfinished."""
    try:
        manifest = json.loads((root / MANIFEST).read_text())
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
    """The built environment of that name, as its definition is now.

    Raises:
        EnvironmentUnusableError: it is not defined, serves another purpose, or is not built.
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
    """Every finished environment, also of outdated definitions, by folder name."""
    found = (read_manifest(folder) for folder in sorted(environments_root().glob("*-*")))
    return [environment for environment in found if environment is not None]


def remove_environment(name: str) -> list[Path]:
    """Delete every build of that name, finished or not, and say which folders went.

    Raises:
        EnvironmentUnusableError: there is none.
    """
    folders = [folder for folder in environments_root().glob(f"{name}-*") if folder.is_dir()]
    folders = [folder for folder in folders if folder.name.rpartition("-")[0] == name]
    if not folders:
        known = ", ".join(definition_names(None))
        raise EnvironmentUnusableError(f"no build of environment {name!r} is here; defined are: {known}")
    for folder in folders:
        (folder / MANIFEST).unlink(missing_ok=True)  # first, so that a half-removed folder is not taken for a build
        shutil.rmtree(folder)
    return folders
