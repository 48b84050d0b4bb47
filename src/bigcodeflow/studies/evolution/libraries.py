"""Versions of an environment's libraries, by import name."""

import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import PurePosixPath

from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.environments.definition import MANIFEST
from bigcodeflow.studies.evolution.causes import PYTHON


def library_versions(environment: InstalledEnvironment) -> Mapping[str, str]:
    """Return the version of each library of a built environment by import name; 'python' is Python itself."""
    manifest = json.loads((environment.root / MANIFEST).read_text(encoding="utf-8"))
    found = {PYTHON: str(manifest["python"])}
    folders = [str(path) for path in environment.root.glob("venv/lib/python3.*/site-packages")]
    for one in metadata.distributions(path=folders):
        for name in _import_names(one.files or ()):
            found.setdefault(name, one.version)
    return found


def _import_names(files: Iterable[metadata.PackagePath]) -> set[str]:
    """Return the top-level packages and modules among a distribution's files."""
    names = set()
    for file in files:
        top = PurePosixPath(file).parts[0]
        name = top.partition(".")[0]
        if name.isidentifier() and (top == name or top.endswith((".py", ".so"))):
            names.add(name)
    return names - {"tests", "test", "docs", "examples", "__pycache__"}
