"""Environments: separate interpreters with pinned libraries, built once and identified by their sha."""

from bigcodeflow.judge.environments.definition import (
    Environment,
    InstalledEnvironment,
    RemoteEnvironment,
    definition_names,
    environments_root,
    find_environment,
    installed_environments,
    load_definition,
)

__all__ = [
    "Environment",
    "InstalledEnvironment",
    "RemoteEnvironment",
    "definition_names",
    "environments_root",
    "find_environment",
    "installed_environments",
    "load_definition",
]
