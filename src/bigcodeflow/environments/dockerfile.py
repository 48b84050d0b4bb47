"""What images and E2B's templates are built from: the one Dockerfile, the base that it begins with, and data files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bigcodeflow.core.errors import ArtifactError, EnvironmentUnusableError
from bigcodeflow.core.paths import shipped
from bigcodeflow.environments.definition import EnvironmentDefinition

DOCKERFILE = "deployments/sandbox/Dockerfile"
#: Python that a definition asks for → the image that has it; the first is for those that ask for none.
BASE_IMAGES = {"": "python:3.11.14-slim-bookworm", "3.10": "python:3.10.19-slim-bookworm"}
#: Where the Dockerfile looks for data files, each at its own path.
_DATA = "deployments/sandbox/data"


def base_image_of(definition: EnvironmentDefinition) -> str:
    """The official image with the Python of an environment.

    Raises:
        EnvironmentUnusableError: none is known for that version.
    """
    try:
        return BASE_IMAGES[definition.python]
    except KeyError:
        raise EnvironmentUnusableError(
            f"environment {definition.name} needs Python {definition.python}, which no known base image has: name one "
            "with --base-image"
        ) from None


def build_context() -> Path:
    """The folder that the Dockerfile copies from: the checkout.

    Raises:
        EnvironmentUnusableError: this is an installed package, which does not carry its own source tree.
    """
    try:
        return shipped(DOCKERFILE).parents[2]
    except ArtifactError:
        raise EnvironmentUnusableError(
            f"images and templates are built from a checkout of bigcodeflow, and this installation has no {DOCKERFILE}"
            ": install the checkout (pip install --editable .), or build there and push the image"
        ) from None


@contextmanager
def data_lent(context: Path, definition: EnvironmentDefinition, folder: Path | None) -> Iterator[None]:
    """Have the data files of a folder lie where the Dockerfile looks for them, as long as it is being built.

    Args:
        context: the folder that the Dockerfile copies from.
        definition: which files, by their paths.
        folder: holds some of them; None lends nothing.
    """
    place = context / _DATA
    sources = {place / one.path: folder / one.path for one in definition.data if folder}
    lent = {target: source for target, source in sources.items() if source.is_file() and not target.exists()}
    try:
        for target, source in lent.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        yield
    finally:
        for target in lent:
            target.unlink(missing_ok=True)
            _remove_empty(target.parent, up_to=place)


def _remove_empty(folder: Path, *, up_to: Path) -> None:
    with suppress(OSError):  # it holds something else
        while folder.is_relative_to(up_to):
            folder.rmdir()
            folder = folder.parent
