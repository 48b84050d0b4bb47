"""Where a store lies: in a folder or at a URL."""

import re
from pathlib import Path

_URL = re.compile(r"([a-z][a-z0-9+.\-]+):/+(.+)")


def located(location: str) -> Path | str:
    """Where a store lies: a folder of this machine, or a URL without a slash at its end.

    ``s3:/bucket`` is ``s3://bucket`` that went through a path on its way here.
    """
    found = _URL.fullmatch(location)
    if found is None:
        return Path(location).expanduser().resolve()
    protocol, rest = found.groups()
    return Path(f"/{rest}") if protocol in ("file", "local") else f"{protocol}://{rest.rstrip('/')}"
