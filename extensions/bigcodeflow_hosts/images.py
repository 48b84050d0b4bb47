"""Images of Docker and Podman, and templates of E2B, that hold sandbox environments; all come from one Dockerfile."""

import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bigcodeflow
from bigcodeflow.core.errors import ArtifactError, EnvironmentUnusableError
from bigcodeflow.core.paths import shipped
from bigcodeflow.judge import environments
from bigcodeflow.judge.environments import EnvironmentDefinition, RemoteEnvironment
from bigcodeflow.judge.environments.build import OnLine
from bigcodeflow.judge.guest.protocol import HARNESS_VERSION

if TYPE_CHECKING:
    from e2b.template.types import BuildInfo

DOCKERFILE = "deployments/sandbox/Dockerfile"
#: Official image by the Python version that a definition asks for; the first is for definitions without a version.
BASE_IMAGES = {
    "": "python:3.11.14-slim-bookworm",
    "3.10": "python:3.10.19-slim-bookworm",
    "3.13": "python:3.13.9-slim-bookworm",
}
#: Prefix of the labels that this product gives its images.
_PREFIX = "bigcodeflow."


def base_image_of(definition: EnvironmentDefinition) -> str:
    """Return the official image with a definition's Python version; raise EnvironmentUnusableError if none is known."""
    if definition.python not in BASE_IMAGES:
        raise EnvironmentUnusableError(
            f"environment {definition.name} needs Python {definition.python}, which no known base image has: name an "
            "image with --base-image"
        )
    return BASE_IMAGES[definition.python]


def build_context() -> Path:
    """Return the folder that the Dockerfile copies from: the checkout, which an installed package does not contain."""
    try:
        return shipped(DOCKERFILE).parents[2]
    except ArtifactError:
        raise EnvironmentUnusableError(
            f"images and templates are built from a checkout of bigcodeflow, and this installation has no {DOCKERFILE}"
            ": install the checkout (pip install --editable .), or build there and push the image"
        ) from None


@contextmanager
def copied_data(context: Path, definition: EnvironmentDefinition, folder: Path | None) -> Iterator[None]:
    """Copy the available data files of a folder to the Dockerfile's data folder, and remove them after the build."""
    place = context / "deployments/sandbox/data"
    paths = [file.path for file in definition.data]
    copied = [path for path in paths if folder and (folder / path).is_file() and not (place / path).exists()]
    try:
        for path in copied:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(folder or "") / path, place / path)
        yield
    finally:
        for path in copied:
            (place / path).unlink(missing_ok=True)
            with suppress(OSError):  # the folder holds other files
                for parent in (place / path).parents:
                    if parent.is_relative_to(place):
                        parent.rmdir()


class Image(NamedTuple):
    """Tag and id of an image that was built."""

    tag: str
    image_id: str


def image_tag(name: str) -> str:
    return f"bigcodeflow-sandbox-{name}:{bigcodeflow.__version__}"


def environment_of(image: Mapping[str, Any], image_name: str, name: str) -> RemoteEnvironment:
    """Return the environment in an image, from Docker's or Podman's description of the image.

    The environment's sha covers the whole image, since programs and system libraries influence verdicts too.
    Raises EnvironmentUnusableError if the image's labels are not those of this version and definition.
    """
    labels: Mapping[str, str] = (image.get("Config") or {}).get("Labels") or {}
    ours = {label.removeprefix(_PREFIX): text for label, text in labels.items() if label.startswith(_PREFIX)}
    for label, value in _labels_of(environments.load_definition(name)).items():
        if ours.get(label) != value:
            raise EnvironmentUnusableError(
                f"image {image_name} has {label} {ours.get(label, 'none')[:20]}, and {value[:20]} is needed: "
                f"build it again with `bigcodeflow env build {name} --backend docker`"
            )
    sha = hashlib.sha256(f"{ours['environment_sha']} {image['Id']}".encode()).hexdigest()
    return RemoteEnvironment(name, sha, lock_sha256=ours["lock_sha256"], reference=str(image["Id"]))


def build_image(
    definition: EnvironmentDefinition,
    *,
    on_line: OnLine,
    url: str = "",
    base_image: str = "",
    data_folder: Path | None = None,
    secrets: Mapping[str, Path] | None = None,
    network: str = "",
    rebuild: bool = False,
) -> Image:
    """Build and label an environment's image, with the command line of Docker or Podman.

    Args:
        definition: environment for the image.
        on_line: called with each line of the build's output.
        url: address of Docker or Podman; empty takes DOCKER_HOST or Docker's default.
        base_image: replaces the official image of the definition's Python.
        data_folder: folder with data files, which are then not downloaded.
        secrets: files for the build only, in no layer: pip (pip.conf), uv (uv.toml), certificates (a PEM bundle).
        network: network of the build, such as 'host'; empty takes Docker's or Podman's default.
        rebuild: do not use cached layers.
    """
    context = build_context()
    program = "podman" if "podman" in url or not shutil.which("docker") else "docker"
    if not shutil.which(program):
        raise EnvironmentUnusableError(
            f"an image is built by docker or podman, and {program} is not installed here: install it, or build the "
            "image elsewhere and pull it"
        )
    address = {"docker": ["--host", url], "podman": ["--remote", "--url", url]}[program] if url else []
    client = [program, *address]
    base = base_image or base_image_of(definition)
    options = [f"--build-arg=BASE_IMAGE={base}", f"--build-arg=ENVIRONMENT={definition.name}"]
    options += ["--progress=plain"] if program == "docker" else []
    options += [f"--secret=id={name},src={path}" for name, path in (secrets or {}).items()]
    options += [f"--network={network}"] if network else []
    options += ["--no-cache"] if rebuild else []
    with tempfile.TemporaryDirectory() as folder, copied_data(context, definition, data_folder):
        id_file = Path(folder) / "image"
        files = [f"--file={context / DOCKERFILE}", f"--iidfile={id_file}", str(context)]
        _build([*client, "build", *options, *files], on_line)
        built = id_file.read_text(encoding="utf-8").strip()
    return _labelled(client, built, definition)


def _labels_of(definition: EnvironmentDefinition) -> dict[str, str]:
    return {
        "environment": definition.name,
        "version": bigcodeflow.__version__,
        "harness": str(HARNESS_VERSION),
        "definition_sha256": definition.key,
    }


def _labelled(client: Sequence[str], built: str, definition: EnvironmentDefinition) -> Image:
    """Commit a built image with its labels and tag; some labels need files of the finished environment."""
    tag = image_tag(definition.name)
    container = _output(client, "create", built).decode().strip()

    def file(name: str) -> bytes:
        path = f"{container}:/opt/environments/{environments.environment_folder(definition).name}/{name}"
        with tarfile.open(fileobj=BytesIO(_output(client, "cp", path, "-"))) as archive:
            content = archive.extractfile(archive.getmembers()[0])
            return content.read() if content else b""

    try:
        sha = str(json.loads(file(environments.MANIFEST))["environment_sha"])
        lock_sha256 = hashlib.sha256(file(environments.LOCK)).hexdigest()
        labels = _labels_of(definition) | {"environment_sha": sha, "lock_sha256": lock_sha256}
        changes = [f'--change=LABEL "{_PREFIX}{name}"="{value}"' for name, value in labels.items()]
        image_id = _output(client, "commit", *changes, container, tag).decode().strip().splitlines()[-1]
    finally:
        _output(client, "rm", container)
    return Image(tag, image_id)


def _build(command: Sequence[str], on_line: OnLine) -> None:
    """Run a build of Docker or Podman, and pass each line of its output to ``on_line``."""
    lines: list[str] = []
    environment = os.environ | {"DOCKER_BUILDKIT": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as building:
        for line in building.stdout or ():
            if text := line.decode(errors="replace").rstrip():
                on_line(text)
                lines.append(text[:300])  # the engine's own errors repeat a whole step of the Dockerfile
    if building.returncode:
        # After the dashes, BuildKit repeats which step failed.
        last = list(itertools.takewhile(lambda text: text != "------", lines))[-15:]
        problem = " ".join(" ".join(last).split())[-1200:]
        raise EnvironmentUnusableError(
            f"the image could not be built ({command[0]} build): {problem}: correct the problem, and build again"
        )


def _output(client: Sequence[str], *arguments: str) -> bytes:
    """Run a command of Docker or Podman and return its standard output."""
    done = subprocess.run([*client, *arguments], capture_output=True, check=False)
    if done.returncode:
        problem = " ".join(done.stderr.decode(errors="replace").split())[-600:]
        raise EnvironmentUnusableError(f"{client[0]} {arguments[0]} failed: {problem}")
    return done.stdout


def template_name(environment: str) -> str:
    """Return the name of an environment's template in this version, such as bigcodeflow-starter-0-1-0."""
    return re.sub(r"[^a-z0-9-]", "-", f"bigcodeflow-{environment}-{bigcodeflow.__version__}".lower())


def build_template(
    definition: EnvironmentDefinition,
    *,
    on_line: OnLine,
    base_image: str = "",
    cores: int = 2,
    memory_mib: int = 8192,
    data_folder: Path | None = None,
    rebuild: bool = False,
) -> "BuildInfo":
    """Let E2B build the template of an environment, and wait for it; unchanged steps come from E2B's cache.

    Args: as those of `build_image`, except:
        base_image: image with the definition's Python on Debian bookworm; empty takes the official one.
        cores: cores of each sandbox.
        memory_mib: memory of each sandbox, a multiple of 2; the default has room for a sample of 4 GiB.
    """
    context = build_context()
    try:
        import httpx
        from e2b import AuthenticationException, BuildException, SandboxException, ServiceBusyException, Template
    except ImportError as error:
        raise EnvironmentUnusableError(
            f"a template needs a package that is not installed ({error.name}): pip install 'bigcodeflow[e2b]'"
        ) from None

    def pass_on(entry: Any) -> None:
        if entry.level != "debug" and entry.message.strip():
            on_line(entry.message.strip())

    name = template_name(definition.name)
    text = dockerfile_of((context / DOCKERFILE).read_text(encoding="utf-8"), definition, base_image)
    try:
        with copied_data(context, definition, data_folder):
            return Template.build(
                Template(file_context_path=context).from_dockerfile(text),
                name,
                cpu_count=cores,
                memory_mb=memory_mib,
                skip_cache=rebuild,
                on_build_logs=pass_on,
            )
    except AuthenticationException:
        raise EnvironmentUnusableError(
            "E2B does not accept the key: set E2B_API_KEY to a key of your team, from https://e2b.dev/dashboard"
        ) from None
    except (BuildException, SandboxException, ServiceBusyException, httpx.HTTPError, OSError) as error:
        problem = " ".join(str(error).split())[:400]
        raise EnvironmentUnusableError(
            f"template {name} could not be built ({problem}): correct it and build again; finished steps are kept"
        ) from error


def dockerfile_of(text: str, definition: EnvironmentDefinition, base_image: str = "") -> str:
    """Return ``text``, the Dockerfile of the images, changed so that E2B can build an environment's template.

    Reasons: E2B expands no argument in FROM, has no secrets, executes the final CMD during the build, and has its
    own unprivileged user, whose uid conflicts with the uid of the image's user.
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
