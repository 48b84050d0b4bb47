"""Environments: foreign interpreters with pinned libraries, built once and known by their sha."""

from bigcodeflow.environments.build import build_environment
from bigcodeflow.environments.definition import (
    FOLDER_DIGITS,
    Environment,
    EnvironmentDefinition,
    InstalledEnvironment,
    Purpose,
    RemoteEnvironment,
    definition_names,
    environments_root,
    find_environment,
    installed_environments,
    load_definition,
    remove_environment,
)

__all__ = [
    "FOLDER_DIGITS",
    "Environment",
    "EnvironmentDefinition",
    "InstalledEnvironment",
    "Purpose",
    "RemoteEnvironment",
    "build_environment",
    "definition_names",
    "environments_root",
    "find_environment",
    "installed_environments",
    "load_definition",
    "remove_environment",
]
