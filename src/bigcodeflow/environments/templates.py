"""E2B's templates with a sandbox environment: built out of the same Dockerfile as images, and known by their builds."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import bigcodeflow
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.environments.definition import EnvironmentDefinition
from bigcodeflow.environments.dockerfile import DOCKERFILE, base_image_of, build_context, data_lent

Say = Callable[[str], None]

CORES = 2
#: Room for one sample with the original's 4 GiB beside others.
MEMORY_MIB = 8192


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """One build of a template, which never changes, as its host told of it."""

    template_id: str
    build_id: str
    environment: str
    environment_sha: str
    """Of what lies in it: libraries, interpreter and data."""
    lock_sha256: str
    missing_data: tuple[str, ...]
    cores: int
    """Of each sandbox, as is the memory."""
    memory_mib: int


@dataclass(frozen=True, slots=True)
class BuiltTemplate:
    """What a build gave."""

    name: str
    template_id: str
    build_id: str


def template_name(environment: str) -> str:
    """What an environment's template is called in this version, such as bigcodeflow-starter-0-1-0."""
    return re.sub(r"[^a-z0-9-]", "-", f"bigcodeflow-{environment}-{bigcodeflow.__version__}".lower())


def build_template(
    definition: EnvironmentDefinition,
    *,
    say: Say,
    base_image: str = "",
    cores: int = CORES,
    memory_mib: int = MEMORY_MIB,
    data_folder: Path | None = None,
    rebuild: bool = False,
    context: Path | None = None,
) -> BuiltTemplate:
    """Have E2B build the template of an environment, and wait for it; what has not changed is taken from its cache.

    Args:
        definition: which environment.
        say: told each step in one line.
        base_image: Python on Debian bookworm, of the definition's version; empty takes the official one.
        cores: of each sandbox.
        memory_mib: of each sandbox; a multiple of 2.
        data_folder: holds data files, which are not downloaded then.
        rebuild: take nothing from the cache.
        context: the folder that the Dockerfile lies in and copies from; None takes the checkout.

    Raises:
        EnvironmentUnusableError: E2B's package is missing, E2B cannot be reached, or the build failed.
    """
    context = context or build_context()
    try:
        import httpx
        from e2b import AuthenticationException, BuildException, SandboxException, ServiceBusyException, Template
    except ImportError as error:
        raise EnvironmentUnusableError(
            f"templates need a package that is not installed ({error.name}): pip install 'bigcodeflow[e2b]'"
        ) from None
    name = template_name(definition.name)
    text = dockerfile_of((context / DOCKERFILE).read_text(), definition, base_image)
    try:
        with data_lent(context, definition, data_folder):
            built = Template.build(
                Template(file_context_path=context).from_dockerfile(text),
                name,
                cpu_count=cores,
                memory_mb=memory_mib,
                skip_cache=rebuild,
                on_build_logs=lambda entry: _tell(entry, say),
            )
    except AuthenticationException:
        raise EnvironmentUnusableError(
            "E2B does not accept the key: set E2B_API_KEY to one of your team's, from https://e2b.dev/dashboard"
        ) from None
    except (BuildException, SandboxException, ServiceBusyException, httpx.HTTPError, OSError) as error:
        told = " ".join(str(error).split())[:400]
        raise EnvironmentUnusableError(
            f"template {name} could not be built ({told}): mend that and build again; finished steps are kept"
        ) from error
    return BuiltTemplate(name, built.template_id, built.build_id)


def dockerfile_of(text: str, definition: EnvironmentDefinition, base_image: str = "") -> str:
    """The Dockerfile of the images as E2B takes it, for one environment.

    E2B expands no argument in FROM, knows no secrets, runs a last command while it builds, and has an unprivileged
    user of its own, whose number the image's user would want as well.
    """
    changes = (
        (r"^FROM .*$", f"FROM {base_image or base_image_of(definition)}"),
        (r"^ARG BASE_IMAGE=.*\n", ""),
        (r"^ARG ENVIRONMENT=.*$", f"ARG ENVIRONMENT={definition.name}"),
        (r"--mount=type=secret,\S+[ \t]*(\\\n\s*)?", ""),
        (r"groupadd --gid 1000 \S+ && useradd --uid 1000 [^\n&]*", "true"),
        (r"^(USER|CMD|ENTRYPOINT) .*\n?", ""),
    )
    for pattern, replacement in changes:
        text = re.sub(pattern, lambda _, new=replacement: new, text, flags=re.MULTILINE)  # type: ignore[misc]
    return text


def read_record(build_id: str) -> TemplateRecord | None:
    """What is known of a build on this machine."""
    try:
        told = json.loads(_record_path(build_id).read_text())
        return TemplateRecord(**told | {"missing_data": tuple(told["missing_data"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None  # not asked yet, or by another version: it can be asked again


def write_record(record: TemplateRecord) -> None:
    """Keep what a build's host told."""
    path = _record_path(record.build_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(asdict(record), indent=2))
    aside.replace(path)


def _record_path(build_id: str) -> Path:
    return cache_folder() / "e2b" / f"{re.sub(r'[^0-9A-Za-z-]', '', build_id)}.json"


def _tell(entry: Any, say: Say) -> None:
    if entry.level != "debug" and entry.message.strip():
        say(entry.message.strip())
