"""Images with a sandbox environment: how one is built and labelled, and what its labels say."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import bigcodeflow
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.environments.build import Say
from bigcodeflow.environments.definition import EnvironmentDefinition, load_definition
from bigcodeflow.environments.dockerfile import DOCKERFILE, base_image_of, build_context, data_lent
from bigcodeflow.environments.identity import RemoteEnvironment
from bigcodeflow.environments.installed import FOLDER_DIGITS, LOCK, MANIFEST
from bigcodeflow.sandbox.protocol import HARNESS_VERSION

#: Where environments lie in an image.
_ROOT = "/opt/environments"
_PREFIX = "bigcodeflow."
_LAST_LINES = 15
#: Of each line in an error: the engine's own repeat a whole step of the Dockerfile.
_LINE_CHARACTERS = 300
#: After it BuildKit says once more which step failed.
_SUMMARY = "------"


class Image(NamedTuple):
    """An image that was built."""

    tag: str
    image_id: str
    environment_sha: str
    """Of the environment in it, without what the rest of the image is made of."""


def image_tag(name: str) -> str:
    """The name of an environment's image, for this version of bigcodeflow."""
    return f"bigcodeflow-sandbox-{name}:{bigcodeflow.__version__}"


def environment_of(image: Mapping[str, Any], image_name: str, name: str) -> RemoteEnvironment:
    """The environment that an image holds, by what the engine tells of the image.

    Its sha is that of the environment and the whole image: programs and system libraries decide verdicts too.

    Raises:
        EnvironmentUnusableError: it holds another environment, an older definition of it, or another version's.
    """
    labels: Mapping[str, str] = (image.get("Config") or {}).get("Labels") or {}
    expected = _labels_of(load_definition(name))
    remedy = f"run `bigcodeflow env build {name} --backend docker`"
    for label, value in expected.items():
        found = labels.get(label)
        if found != value:
            what = label.removeprefix(_PREFIX)
            raise EnvironmentUnusableError(
                f"image {image_name} has {what} {(found or 'none')[:20]}, and {value[:20]} is needed: {remedy}"
            )
    image_id = str(image["Id"])
    sha = hashlib.sha256(f"{labels[f'{_PREFIX}environment_sha']} {image_id}".encode()).hexdigest()
    return RemoteEnvironment(name, sha, lock_sha256=labels[f"{_PREFIX}lock_sha256"], reference=image_id)


def build_image(
    definition: EnvironmentDefinition,
    *,
    say: Say,
    url: str = "",
    base_image: str = "",
    data_folder: Path | None = None,
    secrets: Mapping[str, Path] | None = None,
    network: str = "",
    rebuild: bool = False,
) -> Image:
    """Build and label an environment's image, with the command line of Docker or Podman.

    Args:
        definition: what it is to hold.
        say: told each line of the build.
        url: address of the engine; empty takes DOCKER_HOST or Docker's own.
        base_image: instead of the official image of the Python that is asked for.
        data_folder: holds data files, which are not downloaded then.
        secrets: files that the build is lent, in no layer: pip (pip.conf), uv (uv.toml), certificates (a PEM bundle).
        network: of the build, such as 'host'; empty takes the engine's own.
        rebuild: take nothing from the engine's cache.

    Raises:
        EnvironmentUnusableError: there is no client, no checkout or no base, or the build failed.
    """
    context = build_context()
    client = _Client(url)
    arguments = {"BASE_IMAGE": base_image or base_image_of(definition), "ENVIRONMENT": definition.name}
    options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
    options += [f"--secret=id={name},src={path}" for name, path in (secrets or {}).items()]
    options += [f"--network={network}"] if network else []
    options += ["--no-cache"] if rebuild else []
    with tempfile.TemporaryDirectory() as folder, data_lent(context, definition, data_folder):
        told = Path(folder) / "image"
        client.build([*options, f"--file={context / DOCKERFILE}", f"--iidfile={told}", str(context)], say)
        built = told.read_text().strip()
    return _labelled(client, built, definition)


def _labels_of(definition: EnvironmentDefinition) -> dict[str, str]:
    """What has to be so in an image that this version can use."""
    return {
        f"{_PREFIX}environment": definition.name,
        f"{_PREFIX}version": bigcodeflow.__version__,
        f"{_PREFIX}harness": str(HARNESS_VERSION),
        f"{_PREFIX}definition_sha256": definition.key,
    }


def _labelled(client: "_Client", built: str, definition: EnvironmentDefinition) -> Image:
    """The image with labels that only the finished environment can tell."""
    tag = image_tag(definition.name)
    root = f"{_ROOT}/{definition.name}-{definition.key[:FOLDER_DIGITS]}"
    container = client.call("create", built).decode().strip()
    try:
        sha = str(json.loads(client.file(container, f"{root}/{MANIFEST}"))["environment_sha"])
        lock = hashlib.sha256(client.file(container, f"{root}/{LOCK}")).hexdigest()
        labels = {f"{_PREFIX}environment_sha": sha, f"{_PREFIX}lock_sha256": lock} | _labels_of(definition)
        changes = [f'--change=LABEL "{name}"="{value}"' for name, value in labels.items()]
        image_id = client.call("commit", *changes, container, tag).decode().strip().splitlines()[-1]
    finally:
        client.call("rm", container)
    return Image(tag, image_id, sha)


class _Client:
    """The command line of Docker, or of Podman where that is what the address or the machine has."""

    def __init__(self, url: str) -> None:
        self._program = "podman" if "podman" in url or not shutil.which("docker") else "docker"
        if not shutil.which(self._program):
            raise EnvironmentUnusableError(
                f"an image is built by docker or podman, and {self._program} is not installed here: install it, or "
                "build the image elsewhere and pull it"
            )
        at = {"docker": ["--host", url], "podman": ["--remote", "--url", url]}[self._program] if url else []
        self._command = [self._program, *at]

    def build(self, arguments: Sequence[str], say: Say) -> None:
        """Build, and say each line of it."""
        plain = ["--progress=plain"] if self._program == "docker" else []
        last: list[str] = []
        summary = False
        with subprocess.Popen(
            [*self._command, "build", *plain, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"DOCKER_BUILDKIT": "1"},
        ) as building:
            for line in building.stdout or ():
                text = line.decode(errors="replace").rstrip()
                if text:
                    say(text)
                    summary = summary or text == _SUMMARY
                    last = last if summary else [*last, text[:_LINE_CHARACTERS]][-_LAST_LINES:]
        if building.returncode:
            told = " ".join(" ".join(last).split())[-1200:]
            raise EnvironmentUnusableError(f"the image could not be built ({self._program} build): {told}")

    def call(self, *arguments: str) -> bytes:
        """The output of another command."""
        done = subprocess.run([*self._command, *arguments], capture_output=True, check=False)
        if done.returncode:
            told = " ".join(done.stderr.decode(errors="replace").split())[-600:]
            raise EnvironmentUnusableError(f"{self._program} {arguments[0]} failed: {told}")
        return done.stdout

    def file(self, container: str, path: str) -> bytes:
        """A file of a container that need not run."""
        with tarfile.open(fileobj=BytesIO(self.call("cp", f"{container}:{path}", "-"))) as archive:
            content = archive.extractfile(archive.getmembers()[0])
            return content.read() if content else b""
