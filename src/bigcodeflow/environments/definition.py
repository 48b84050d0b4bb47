"""What an environment is made of: configs/environments/NAME.yaml beside NAME.lock."""

import hashlib
import json
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.paths import shipped

Purpose = Literal["sandbox", "engine"]

#: Bump when the way of building changes what an environment holds.
BUILD_VERSION = 1


class DataFile(BaseModel):
    """A file that libraries read at run time, fetched when the environment is built."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    """Place below the environment's data folder."""
    sha256: str
    url: str = ""
    """Where it is downloaded from, unless a wheel holds it."""
    wheel: str = ""
    """Pinned distribution that carries it, such as 'name==1.0'."""
    member: str = ""
    """Its path within that wheel."""


class EnvironmentDefinition(BaseModel):
    """An environment as it is to be built."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str
    purpose: Purpose = "sandbox"
    """'sandbox' runs solutions, 'engine' runs a model that writes them."""
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
        told_elsewhere = {"name", "description", "purpose", "torch_backend", "system_packages", "imports"}
        identity = self.model_dump(exclude=told_elsewhere)
        return hashlib.sha256(json.dumps([BUILD_VERSION, identity], sort_keys=True).encode()).hexdigest()


def definition_names(purpose: Purpose | None = "sandbox") -> list[str]:
    """Names of the shipped definitions for a purpose; None takes all."""
    names = sorted(path.stem for path in shipped("configs/environments").glob("*.yaml"))
    return [name for name in names if purpose is None or load_definition(name).purpose == purpose]


def load_definition(name: str) -> EnvironmentDefinition:
    """Read a shipped definition by its name.

    Raises:
        EnvironmentUnusableError: there is none of that name.
    """
    file = shipped("configs/environments") / f"{name}.yaml"
    if Path(name).name != name or not file.is_file():
        known = ", ".join(definition_names(None))
        raise EnvironmentUnusableError(f"environment {name!r} is not defined; defined are: {known}")
    return EnvironmentDefinition(name=name, lock=_lock_beside(file).read_text(), **yaml.safe_load(file.read_text()))


def _lock_beside(file: Path) -> Path:
    return file.with_suffix(".lock")
