"""What a worker on another machine must have: the same code, and the sandbox environment by its sha."""

import pkgutil
import socket
from typing import TYPE_CHECKING

import bigcodeflow
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.environments import InstalledEnvironment, installed_environments
from bigcodeflow.sandbox.protocol import HARNESS_VERSION

if TYPE_CHECKING:
    from distributed import Client

_SHA_DIGITS = 12


def code_version() -> str:
    """What has to be the same where work is sent from and where it is done."""
    return f"{bigcodeflow.__version__}, harness {HARNESS_VERSION}"


def require_package(client: "Client") -> None:
    """Refuse workers that could not even read what they are sent.

    Raises:
        EnvironmentUnusableError: a worker's Python lacks this package.
    """
    found = client.run(pkgutil.resolve_name, "bigcodeflow:__version__", on_error="return")
    for worker, version in found.items():
        if isinstance(version, ImportError):
            raise EnvironmentUnusableError(
                f"worker at {worker} cannot import bigcodeflow ({version}): install version {bigcodeflow.__version__} "
                "there and restart the worker"
            )


def require_code(wanted: str) -> None:
    """Refuse work of another version, which may mean something else by the same words.

    Raises:
        EnvironmentUnusableError: this machine has another version.
    """
    if code_version() != wanted:
        raise EnvironmentUnusableError(
            f"worker on {socket.gethostname()} has bigcodeflow {code_version()}, and the run {wanted}: install the "
            "same version there and restart the worker"
        )


def environment_here(wanted: InstalledEnvironment) -> InstalledEnvironment:
    """The environment of the same sha on this machine, wherever it lies here.

    Raises:
        EnvironmentUnusableError: it is not built here, or other libraries or data went into it.
    """
    found = installed_environments()
    for environment in found:
        if environment.environment_sha == wanted.environment_sha:
            return environment
    others = [one.environment_sha[:_SHA_DIGITS] for one in found if one.name == wanted.name]
    there = f"it has {', '.join(others)} of that name" if others else "none of that name is there"
    raise EnvironmentUnusableError(
        f"worker on {socket.gethostname()} lacks the sandbox environment {wanted.name} with sha "
        f"{wanted.environment_sha[:_SHA_DIGITS]} ({there}): run `bigcodeflow env build {wanted.name}` there, or set "
        "BIGCODEFLOW_ENVIRONMENTS to a folder that has it, and restart the worker"
    )
