"""Read the distributions that a project requires from its requirements, its pyproject.toml or its lock file."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name

from bigcodeflow.core.display_text import elided
from bigcodeflow.core.errors import ConfigError, error_message

_CONTINUED = re.compile(r"\\[ \t]*(?:\r\n|\r|\n)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
#: Options of a single requirement, such as --hash=sha256:…, and what follows them.
_OPTIONS = re.compile(r"\s--?[a-zA-Z][\w-]*(?:[=\s]|$).*$")
_OPTION = re.compile(r"(--?[a-zA-Z][\w-]*)(?:\s*=\s*|\s+|(?<=^-[a-zA-Z]))(.*)$")
_ADDRESS = re.compile(r"[a-z][a-z+]*://|\.{0,2}/|\.+$|file:|[a-zA-Z]:\\|\.\\|.*(?:\.whl|\.tar\.gz|\.zip)$")
#: Name in an address: egg= of its fragment, or the start of the file name of a wheel or archive.
_IN_ADDRESS = (
    re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]*)"),
    re.compile(r"(?:^|[/\\])([A-Za-z0-9][\w.-]*?)-\d[^/\\]*\.(?:whl|tar\.gz|zip)\b"),
)
#: Name, before extras, markers, an address, or a version in any form: also that of older pip, or conda's.
_NAME = re.compile(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:$|[=<>!~;\[@(])")
#: File endings of other formats; read as lines of requirements, they would give wrong names or none.
_OTHER_FORMATS = (".yml", ".yaml", ".py", ".cfg", ".ini", ".toml", ".json")
_SHOWN = 60
_PIPFILE = ("packages", "dev-packages", "default", "develop")
_LOCK = ("package", "packages")
#: Dotted keys of distributions, by pattern of the lower-case file name; * is any key. All other files are read as lines
#: of requirements.
_PLACES: Mapping[str, Sequence[str]] = {
    "pyproject.toml": (
        *("project.dependencies", "project.optional-dependencies.*", "dependency-groups.*"),
        *("tool.uv.dev-dependencies", "tool.pdm.dev-dependencies.*"),
        *("tool.poetry.dependencies", "tool.poetry.dev-dependencies"),
        *("tool.poetry.group.*.dependencies", "tool.poetry.group.*.dev-dependencies"),
    ),
    "pipfile": _PIPFILE,
    "pipfile.lock": _PIPFILE,
    **dict.fromkeys(("uv.lock", "poetry.lock", "pdm.lock", "*.toml"), _LOCK),
}


class Requirements(NamedTuple):
    """Distributions that a file and the files it includes require, and lines that name no distribution."""

    distributions: tuple[str, ...]
    """Normalized names in the order of the files, each once."""
    problems: tuple[str, ...] = ()
    """File, number and text of each skipped line."""


def read_requirements(path: Path) -> Requirements:
    """Read the distributions that a file requires; the file's name decides its format.

    Markers, versions and hashes are ignored: requirements of any system count. A lock file also has the dependencies
    of dependencies.

    Raises:
        ConfigError: the file, or a file that it includes, is missing or has another format than its name says.
    """
    problems: list[str] = []
    places = next((found for name, found in _PLACES.items() if fnmatchcase(path.name.lower(), name)), None)
    names = _of_lines(path, set(), problems) if places is None else _at_places(_parsed(path), places)
    distributions = dict.fromkeys(str(canonicalize_name(name)) for name in names if name)
    return Requirements(tuple(distributions), tuple(problems))


def decoded(content: bytes) -> str:
    """Decode a text file in UTF-8, UTF-16 or UTF-32, with or without a byte order mark.

    Content that is not valid UTF-8 is read as Latin-1, since names of distributions are ASCII in either encoding.
    """
    encoding = json.detect_encoding(content)
    try:
        return content.decode(encoding, "strict" if encoding == "utf-8" else "replace")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read(path: Path) -> str:
    try:
        return decoded(path.read_bytes())
    except OSError as error:
        reason = error.strerror or error_message(error)
        raise ConfigError(f"{path}: cannot be read ({reason}): name another file") from None


def _of_lines(path: Path, read: set[Path], problems: list[str]) -> Iterator[str]:
    """Yield names in a requirements file and in the files that it includes; read each file once."""
    if path.resolve() in read:
        return
    read.add(path.resolve())
    if path.name.lower().endswith(_OTHER_FORMATS):
        raise ConfigError(
            f"{path}: is not a requirements file: give a requirements.txt, pyproject.toml or lock file, or the names "
            "of the libraries with --libraries"
        )
    for number, raw in enumerate(_CONTINUED.sub(" ", _read(path)).splitlines(), start=1):
        line = _COMMENT.sub("", raw).strip()
        option = _OPTION.match(line)
        name, value = option.groups() if option else ("", "")
        if name in ("-r", "--requirement"):
            yield from _of_lines(_included(path, value.strip().strip("\"'"), number), read, problems)
        elif name in ("-e", "--editable"):
            yield _named_by_address(value.strip())
        elif not line.startswith("-"):  # other options have no name
            found = _named(line)
            if found is None:
                problems.append(f"{path}, line {number}: {elided(line, _SHOWN)!r} names no distribution")
            yield found or ""


def _included(path: Path, name: str, number: int) -> Path:
    with suppress(OSError, ValueError):  # no file can have this name
        if (found := path.parent / name).exists():
            return found
    shown = elided(name, _SHOWN)
    raise ConfigError(f"{path}, line {number}: includes {shown}, which does not exist: add the file or remove the line")


def _named(line: str) -> str | None:
    """Return the distribution that a line requires; "" for an address that names none; None for any other text."""
    asked = _OPTIONS.sub("", line).strip()
    if name := _NAME.match(asked):
        return name[1]
    return _named_by_address(asked) if not asked or _ADDRESS.match(asked) else None


def _named_by_address(address: str) -> str:
    return next((found[1] for pattern in _IN_ADDRESS if (found := pattern.search(address))), "")


def _parsed(path: Path) -> Any:
    """Read the content of a TOML or JSON file."""
    text = _read(path)
    kind, parse = ("JSON", json.loads) if path.name.lower() == "pipfile.lock" else ("TOML", tomllib.loads)
    try:
        return parse(text)
    except (ValueError, RecursionError) as error:  # both formats' errors are ValueErrors
        raise ConfigError(f"{path}: is not valid {kind} ({error_message(error)}): correct the file") from None


def _at_places(content: Any, places: Iterable[str]) -> Iterator[str]:
    """Yield the distributions under the dotted keys ``places``: table keys, list items, and packages of lock files."""
    for value in (value for place in places for value in values_at(content, place)):
        if isinstance(value, dict):
            yield from (name for name in value if name.lower() != "python")
        for one in value if isinstance(value, list) else ():
            # In uv.lock, the project itself is virtual or editable.
            is_own = any((*values_at(one, "source.virtual"), *values_at(one, "source.editable")))
            if isinstance(one, str):
                yield _named(one) or ""
            elif isinstance(one, dict) and not is_own:
                yield str(one.get("name") or "")


def values_at(content: Any, place: str) -> Iterator[Any]:
    """Yield the values at ``place``, a dotted key in parsed JSON or TOML where * is any key or any item of a list."""
    first, _, rest = place.partition(".")
    found = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, value in found:
        if first in (name, "*"):
            yield from values_at(value, rest) if rest else (value,)
