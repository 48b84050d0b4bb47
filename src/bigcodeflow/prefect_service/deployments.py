"""The deployments of a prefect.yaml: registered, and with the schedules that somebody switched on kept."""

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import yaml

import bigcodeflow
from bigcodeflow.core.errors import ConfigError, ServiceError
from bigcodeflow.core.paths import shipped
from bigcodeflow.prefect_service.server import POOL, PrefectServer

_DEPLOY_SECONDS = 300
_SHOWN_LINES = 6


def deployments_file(path: str) -> Path:
    """The prefect.yaml that is meant; the shipped one where none is named."""
    return Path(path) if path else shipped("prefect.yaml")


def deployment_names(file: Path) -> list[str]:
    """Names of a prefect.yaml's deployments, in its order.

    Raises:
        ConfigError: the file is absent, is no prefect.yaml, or names another work pool.
    """
    try:
        content = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"deployments {file}: {' '.join(str(error).split())}") from None
    entries = content.get("deployments") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry.get("name") for entry in entries):
        raise ConfigError(f"deployments {file}: expected a list `deployments` whose entries have a `name`")
    for entry in entries:
        pool = (entry.get("work_pool") or {}).get("name")
        if pool != POOL:
            raise ConfigError(
                f"deployments {file}: {entry['name']} names the work pool {pool!r}; the worker here serves {POOL!r}"
            )
    return [str(entry["name"]) for entry in entries]


def fingerprint(file: Path, project: Path, database: str) -> str:
    """Changes with all that is written into the deployments: the file, the code's settings, the working folder."""
    digest = hashlib.sha256()
    for part in (str(project), database, metadata.version("prefect"), bigcodeflow.__version__):
        digest.update(part.encode() + b"\0")
    digest.update(file.read_bytes())
    for package in ("bigcodeflow", "flows"):
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations if spec else None) or ():
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def register(server: PrefectServer, file: Path, *, project: Path, environment: Mapping[str, str]) -> None:
    """Deploy everything in the file by Prefect's own command; a schedule stays active or inactive as it was.

    Raises:
        ServiceError: Prefect refuses a deployment.
    """
    before = {(schedule.deployment, schedule.slug): schedule.active for schedule in server.schedules()}
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    try:
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=_DEPLOY_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ServiceError(f"deploying {file} took over {_DEPLOY_SECONDS} s: run `bigcodeflow up` again") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ServiceError(f"{file} cannot be deployed:\n" + "\n".join(f"  {line}" for line in lines[-_SHOWN_LINES:]))
    for schedule in server.schedules():
        server.set_schedule(schedule, active=before.get((schedule.deployment, schedule.slug), schedule.active))
