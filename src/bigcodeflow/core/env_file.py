"""Read files that set environment variables, such as keys: each line is NAME=value, as for a shell or Docker."""

import os
import re
from pathlib import Path

from bigcodeflow.core.errors import ConfigError

#: Environment variable with the path of the env file for each run that the service starts; the file may be absent.
ENV_FILE_VARIABLE = "BIGCODEFLOW_ENV_FILE"
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)", re.ASCII)
#: A quoted or plain value; a # begins a comment if a blank precedes it.
_VALUE = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>(?:(?<!\s)\#|[^\s#]).*?|))(?:(?<=\s)\#.*|\s+\#.*)?\s*"""
)


def read_env_file(path: Path) -> dict[str, str]:
    """Read the variables of a file; error messages give a line's number, but not its content, which may be secret.

    Raises:
        ConfigError: the file cannot be read, or a line sets no variable.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise ConfigError(f"--env-file {path} cannot be read ({reason}): name a file of lines NAME=value") from None
    found = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        parsed = _LINE.fullmatch(text)
        if parsed is None:
            raise ConfigError(f"{path}, line {number}: sets no variable: write NAME=value")
        value = _VALUE.fullmatch(parsed[2])
        found[parsed[1]] = next((part for part in (value.groups() if value else ()) if part is not None), "")
    return found


def take_env_file() -> None:
    """Set the variables of the file that BIGCODEFLOW_ENV_FILE names, except variables that already have a value."""
    path = os.environ.get(ENV_FILE_VARIABLE)
    if path and os.path.lexists(path):  # a dangling link is a mistake and is reported
        for name, value in read_env_file(Path(path)).items():
            if not os.environ.get(name):
                os.environ[name] = value
