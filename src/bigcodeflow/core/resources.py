"""Files that ship with the product: presets, environment definitions and the starter set; and where its caches lie."""

import os
from pathlib import Path

from bigcodeflow.core.errors import ArtifactError

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parents[1]


def shipped(relative: str) -> Path:
    """Path of a shipped file or folder such as ``configs/starter.yaml``.

    In a wheel the folders lie inside the package; in a checkout they are the top-level ones.

    Raises:
        ArtifactError: the installation lacks the file.
    """
    for root in (_PACKAGE, _CHECKOUT):
        path = root / relative
        if path.exists():
            return path
    raise ArtifactError(f"{relative} is missing from this installation: reinstall bigcodeflow")


def cache_folder() -> Path:
    """The product's folder in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().resolve() / "bigcodeflow"
