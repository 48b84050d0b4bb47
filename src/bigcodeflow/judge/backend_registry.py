"""Registry of the backends that a configuration can name, and of the environment in which each backend executes.

A backend is an entry point of the group ``bigcodeflow.backends`` that names a `BackendSpec`. Plug-ins add backends.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from bigcodeflow.config.execution import BACKENDS, ExecutionConfig
from bigcodeflow.config.reads import CONTENT
from bigcodeflow.core.errors import ConfigError, EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.machine import usable_cores
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.core.plugins import load_plugin, plugin_entries
from bigcodeflow.judge.environments import Environment, InstalledEnvironment, RemoteEnvironment, find_environment

if TYPE_CHECKING:
    from bigcodeflow.judge.host.base import Backend

logger = logging.getLogger(__name__)

#: Names of the settings that decide which environment a backend uses.
_NAMING = tuple(path.removeprefix("execution.") for path in CONTENT["environment"])


OnLong = Callable[[], None]
"""Callback that is called in the thread of a long sample, so that the worker can start another item meanwhile."""


class BackendSpec(NamedTuple):
    """Definition of a backend: a function that returns its environment, and a function that makes the backend."""

    environment: Callable[[ExecutionConfig], Environment]
    """Function that returns the backend's environment. It raises SandboxUnavailableError if the backend is unreachable,
    and EnvironmentUnusableError if the backend has no usable environment."""
    backend: Callable[[ExecutionConfig, Environment, float, bool, OnLong | None], "Backend"]
    """Function that makes the backend of a worker process; `make_backend` explains the arguments, in the same order."""


def execution_environment(config: ExecutionConfig) -> Environment:
    """Return the environment of the configured backend, or of the fallback backend if the former is unavailable."""
    try:
        environment = _spec(config).environment(config)
    except SandboxUnavailableError as error:
        if not config.fallback:
            raise
        logger.warning("the fallback backend %s takes over: %s", config.fallback, error)
        second = _second(config)
        return _spec(second).environment(second)
    if isinstance(environment, RemoteEnvironment):
        write_atomically(_cached_response(config), json.dumps(asdict(environment)).encode())
    return environment


def remembered_environment(config: ExecutionConfig) -> Environment | None:
    """Return the configured backend's environment without contacting the backend.

    For a remote backend, return the environment that this machine stored at the last contact, or None.
    For the local backend, raise EnvironmentUnusableError if the environment is not built.
    """
    if config.backend == "local":
        return find_environment(config.environment)
    try:
        found = json.loads(_cached_response(config).read_bytes())
        return RemoteEnvironment(**found | {"missing_data": tuple(found["missing_data"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None  # never stored, or stored by another version


def _cached_response(config: ExecutionConfig) -> Path:
    """Return the path of the cache file that holds the environment reported by a remote backend, for these settings."""
    named = [config.backend, *(attrgetter(path)(config) for path in _NAMING)]
    return cache_folder() / "backends" / f"{hashlib.sha256(json.dumps(named).encode()).hexdigest()}.json"


def make_backend(
    config: ExecutionConfig,
    environment: Environment,
    *,
    cores: float,
    isolated: bool = True,
    on_long: OnLong | None = None,
) -> "Backend":
    """Make the configured backend; if a fallback backend is configured, combine both.

    ``cores`` is the number of cores to keep busy. If ``isolated`` is False, the local backend runs samples without a
    sandbox. Raises EnvironmentUnusableError if the libraries of backend and fallback backend differ.
    """
    if not config.fallback:
        return _spec(config).backend(config, environment, cores, isolated, on_long)
    from bigcodeflow.judge.remote.backend import FailoverBackend

    second = _second(config)
    other = _spec(second).environment(second)
    fallback = _spec(second).backend(second, other, cores, isolated, on_long)
    # Compare the types too: otherwise a service with this machine's environment would never be used.
    if type(other) is type(environment) and other.environment_sha == environment.environment_sha:
        return fallback  # the first backend was down at planning time, so the second backend executes all items
    if not environment.lock_sha256 or environment.lock_sha256 != other.lock_sha256:
        raise EnvironmentUnusableError(
            f"execution.fallback {config.fallback} has other libraries than execution.backend {config.backend}, so "
            "verdicts could differ: build both environments from the same lock file, or leave execution.fallback empty"
        )
    return FailoverBackend(_spec(config).backend(config, environment, cores, isolated, on_long), fallback, other)


def _second(config: ExecutionConfig) -> ExecutionConfig:
    return config.model_copy(update={"backend": config.fallback, "fallback": ""})


def _spec(config: ExecutionConfig) -> BackendSpec:
    name = config.backend
    if (entry := plugin_entries(BACKENDS).get(name)) is None:  # the settings were checked on another machine
        raise ConfigError(
            f"execution.backend {name} is a plug-in that is not installed on this machine: install the plug-in"
        )
    return cast("BackendSpec", load_plugin(entry.value, f"execution.backend {name}", extra=name))


def _local_backend(
    config: ExecutionConfig,
    environment: Environment,
    cores: float,
    isolated: bool,  # noqa: FBT001 -- the signature of every spec
    on_long: OnLong | None,
) -> "Backend":
    from bigcodeflow.judge.host.admission import Admission
    from bigcodeflow.judge.host.local import LocalBackend

    installed = cast("InstalledEnvironment", environment)
    warm = isolated and config.start == "warm"
    # Worker processes of one machine share its memory as they share its cores.
    all_cores = (config.on_this_machine and config.workers) or usable_cores()
    admission = Admission(cores, on_long, share=min(1.0, cores / all_cores))
    return LocalBackend(installed, config.limits, isolated=isolated, warm=warm, admission=admission)


LOCAL = BackendSpec(lambda config: find_environment(config.environment), _local_backend)
