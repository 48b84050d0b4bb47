"""Export of the wheels that were compiled for an environment, so that builds on other machines need no compiler.

A compiled wheel has another sha256 than the source archive that the lock file pins. So a JSON file next to the wheels
states the lock file and the architecture for which they were made, and their sha256; a build takes only these wheels.
"""

import base64
import csv
import hashlib
import io
import json
import platform
import re
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import Distribution
from pathlib import Path

from bigcodeflow.core.errors import EnvironmentUnusableError, error_message
from bigcodeflow.core.files import write_atomically
from bigcodeflow.judge.environments import EnvironmentDefinition, InstalledEnvironment


def export_wheels(environment: InstalledEnvironment, folder: Path) -> list[Path]:
    """Write wheels of the packages compiled for an environment, and a JSON file of their sha256; return all paths.

    Raises EnvironmentUnusableError if no package was compiled, or if installed files differ from the compiled files.
    """
    # uv leaves this file in packages that it built; `_wheel` keeps it, so that a package can be exported again.
    marks = environment.root.glob("venv/lib/python3.*/site-packages/*.dist-info/uv_build.json")
    written, sha256 = list[Path](), dict[str, str]()
    for mark in sorted(marks):
        name, content = _wheel(mark.parent)
        written.append(write_atomically(folder / name, content))
        sha256[name] = hashlib.sha256(content).hexdigest()
    if not written:
        raise EnvironmentUnusableError(
            f"environment {environment.name} has no compiled packages, so other machines can build it without an export"
        )
    about = {"lock_sha256": environment.lock_sha256, "wheels": sha256}
    return [*written, write_atomically(folder / _file_name(environment.name), json.dumps(about, indent=2).encode())]


def exported_wheels(place: str, definition: EnvironmentDefinition, on_line: Callable[[str], None]) -> dict[str, str]:
    """Return file name → sha256 of the wheels that `export_wheels` wrote to ``place``, a folder or URL.

    The result is empty if the JSON file of the export cannot be read from ``place``. Raises EnvironmentUnusableError if
    that file is damaged, or if the wheels are for another lock file.
    """
    address = place.rstrip("/") if "://" in place else Path(place).resolve().as_uri()
    where = f"{address}/{_file_name(definition.name)}"
    try:
        with urllib.request.urlopen(where, timeout=120) as response:  # noqa: S310 -- an address that the user names
            about = json.load(response)
        wheels, lock_sha256 = dict(about["wheels"]), about["lock_sha256"]
    except OSError as error:
        why = error_message(error)
        on_line(f"libraries: cannot read {where} ({why}): only files whose hashes the lock has are taken from {place}")
        return {}
    except (ValueError, KeyError, TypeError):
        raise EnvironmentUnusableError(f"--find-links {where} is not a file that `env export` wrote") from None
    if lock_sha256 != hashlib.sha256(definition.lock.encode()).hexdigest():
        raise EnvironmentUnusableError(
            f"--find-links {where} is for another lock file of {definition.name}: run `bigcodeflow env export "
            f"{definition.name} FOLDER` where this version's environment is built, or build without --find-links"
        )
    return wheels


def with_wheels(lock: str, wheels: Mapping[str, str]) -> str:
    """Return ``lock`` with the packages of ``wheels`` (file name → sha256) pinned to the sha256 of these wheels."""
    for file, sha256 in wheels.items():
        name, version, *_ = file.split("-")
        package = f"{name.replace('_', '[-_.]')}=={re.escape(version)}"
        pattern = rf"(?im)^({package}[^\n\\]*)(?:\\\n +--hash=\S+ ?)+"
        lock = re.sub(pattern, rf"\1--hash=sha256:{sha256}", lock)
    return lock


def _file_name(environment: str) -> str:
    return f"{environment}-{platform.machine()}.json"


def _wheel(info: Path) -> tuple[str, bytes]:
    """Make a wheel of the installed package with dist-info folder ``info``; return the wheel's file name and content.

    The wheel holds no command-line scripts: the installer makes these. Equal packages give byte-identical wheels.
    """
    package = info.name.removesuffix(".dist-info")
    programs = {f"../../../bin/{entry.name}" for entry in Distribution.at(info).entry_points}
    of_installer = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json")
    left_out = programs | {f"{info.name}/{name}" for name in of_installer}
    rows = csv.reader((info / "RECORD").read_text(encoding="utf-8").splitlines())
    content, record = io.BytesIO(), [f"{info.name}/RECORD,,\n"]
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, digest, size in sorted(row for row in rows if row[0] not in left_out):
            entry, data = zipfile.ZipInfo(path), (info.parent / path).read_bytes()
            entry.external_attr = (info.parent / path).stat().st_mode << 16
            sha256 = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            if path.startswith("../") or digest != f"sha256={sha256}":
                raise EnvironmentUnusableError(
                    f"{package} cannot be exported: {path} is outside its packages or was changed after the build: "
                    "build the environment again with --rebuild"
                )
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
            record.append(f'"{path}",{digest},{size}\n')
        archive.writestr(zipfile.ZipInfo(f"{info.name}/RECORD"), "".join(record))
    lines = (info / "WHEEL").read_text(encoding="utf-8").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in lines if line.startswith("Tag: ")]
    tag = "-".join(".".join(sorted(set(parts))) for parts in zip(*tags, strict=True))
    return f"{package}-{tag}.whl", content.getvalue()
