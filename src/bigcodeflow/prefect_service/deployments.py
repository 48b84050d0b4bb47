"""Deployments of a prefect.yaml: reading, change detection, and registration with Prefect's own command."""

import hashlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, TimeoutExpired, run
from typing import Any

import yaml

import bigcodeflow
from bigcodeflow.core.errors import ConfigError, ServiceError, error_message
from bigcodeflow.prefect_service.server import POOL, PrefectServer

_DEPLOY_SECONDS = 300


def read_deployments(file: Path) -> list[str]:
    """Read a prefect.yaml and return the names of its deployments; raise ConfigError if it cannot be used."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{file} cannot be read as a prefect.yaml ({error_message(error)}): correct it") from None
    entries = content.get("deployments") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry.get("name") for entry in entries):
        raise ConfigError(f"{file}: `deployments` must be a list of entries with a `name`")
    for entry in entries:
        pool = entry.get("work_pool")
        pool = pool.get("name") if isinstance(pool, dict) else pool
        if pool != POOL:
            raise ConfigError(
                f"{file}: the deployment {entry['name']} has the work pool {pool!r}, but `bigcodeflow up` has "
                f"a worker for {POOL!r} only: write `work_pool: {{name: {POOL}}}`"
            )
    return [str(entry["name"]) for entry in entries]


def deployments_fingerprint(file: Path, project: Path, database: str) -> str:
    """Return a hash of all that deployments depend on; they must be registered again when the hash changes.

    The hash covers file, folder, database, versions, and the code of the library and of packages with deployed flows.
    """
    digest = hashlib.sha256()
    for part in (str(project), database, metadata.version("prefect"), bigcodeflow.__version__):
        digest.update(part.encode() + b"\0")
    digest.update(file.read_bytes())
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))["deployments"]
    named = {str(entry.get("entrypoint")).partition(".")[0] for entry in entries}
    for package in sorted({"bigcodeflow", "flows", *filter(str.isidentifier, named)}):
        for path in _sources_of(package):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources_of(package: str) -> list[Path]:
    """Return the source files of an installed package or module; empty if it is not installed."""
    with suppress(ValueError):  # of __main__
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return sorted(path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*.py"))
        if spec is not None and spec.has_location and spec.origin:
            return [Path(spec.origin)]
    return []


def register_deployments(file: Path, server: PrefectServer, *, project: Path, environment: Mapping[str, str]) -> None:
    """Register all deployments of the file with `prefect deploy`; existing schedules stay active or inactive."""
    before = {(schedule.deployment, schedule.slug): schedule.active for schedule in server.schedules()}
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    piped: dict[str, Any] = {"stdin": DEVNULL, "stdout": PIPE, "stderr": STDOUT, "encoding": "utf-8"}
    piped |= {"errors": "replace", "timeout": _DEPLOY_SECONDS}
    try:
        done = run(command, cwd=project, env=environment, check=False, **piped)
    except TimeoutExpired:
        raise ServiceError(f"registering {file} took over {_DEPLOY_SECONDS} s: run `bigcodeflow up` again") from None
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        end = "\n".join(f"  {line}" for line in lines[-6:])
        raise ServiceError(f"`prefect deploy` failed for {file}: correct the error in its last lines:\n{end}")
    for schedule in server.schedules():
        server.set_schedule(schedule, active=before.get((schedule.deployment, schedule.slug), schedule.active))
