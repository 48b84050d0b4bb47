"""Locations: files that ship with the product, its cache folder, and a store's folder or URL."""

import errno
import os
import re
from pathlib import Path

from bigcodeflow.core.errors import ArtifactError, ConfigError

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parents[1]
_SHOWN = 100
_URL = re.compile(r"([a-z][a-z0-9+.\-]+):/+(.+)")


def shipped(relative: str) -> Path:
    """Return the path of the shipped file or folder ``relative``, in the installed package or else in the checkout."""
    for root in (_PACKAGE, _CHECKOUT):
        path = root / relative
        if path.exists():
            return path
    raise ArtifactError(f"{relative} is missing from this installation: reinstall bigcodeflow")


def cache_folder() -> Path:
    """Return the product's folder inside the user's cache folder (XDG_CACHE_HOME, or ~/.cache)."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().resolve() / "bigcodeflow"


def user_path(text: str | Path) -> Path:
    """Return the path that a user wrote, with ``~`` expanded; raise ConfigError if the text cannot be a path."""
    try:
        path = Path(text).expanduser()
        os.lstat(path)
    except (RuntimeError, ValueError) as error:  # no such user; a zero byte
        raise ConfigError(f"{_shown(text)} is not a valid path: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise ConfigError(f"{_shown(text)} is not a valid path: {error.strerror}") from None
    return path


def _shown(text: str | Path) -> str:
    given = str(text)
    return repr(given if len(given) <= _SHOWN else f"{given[:_SHOWN]}…")


def located(location: str) -> Path | str:
    """Return the location of a store: the path of a local folder, or a URL without a slash at its end.

    ``s3:/bucket`` is read as ``s3://bucket``, since a URL that is converted to a path loses a slash.
    """
    found = _URL.fullmatch(location)
    if found is None:
        return user_path(location).resolve()
    protocol, rest = found.groups()
    return Path(f"/{rest}") if protocol in ("file", "local") else f"{protocol}://{rest.rstrip('/')}"
