"""Read the distributions that a project requires from its requirements, its pyproject.toml or its lock file."""

import codecs
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from bigcodeflow.core.display_text import elided
from bigcodeflow.core.errors import ConfigError, error_message

#: Byte order marks with their encodings; UTF-32 before UTF-16, since its mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTINUED = re.compile(r"\\[ \t]*(?:\r\n|\r|\n)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
#: Options of a single requirement, such as --hash=sha256:…, and what follows them.
_OPTIONS = re.compile(r"\s--?[a-zA-Z][\w-]*(?:[=\s]|$).*$")
_OPTION = re.compile(r"(--?[a-zA-Z][\w-]*)(?:\s*=\s*|\s+|(?<=^-[a-zA-Z]))(.*)$")
_EGG = re.compile(r"(?:^|&)egg=([A-Za-z0-9][\w.-]*)")
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_INCLUDES = frozenset({"-r", "--requirement"})
_EDITABLE = frozenset({"-e", "--editable"})
#: File endings of other formats; read as lines of requirements, they would give wrong names or none.
_OTHER_FORMATS = (".yml", ".yaml", ".py", ".cfg", ".ini", ".toml", ".json")
_SHOWN = 60


class Requirements(NamedTuple):
    """Distributions of one or several files, and lines that cannot be understood."""

    distributions: tuple[str, ...]
    """Normalized names in the order of the files, each once."""
    problems: tuple[str, ...] = ()
    """File, number and text of each skipped line."""


def read_requirements(path: Path) -> Requirements:
    """Read the distributions of a file, whose name decides the format.

    Markers, versions and hashes are ignored: requirements of any system count. A lock file also has the dependencies
    of dependencies.

    Raises:
        ConfigError: the file, or a file that it includes, is missing or is not of its format.
    """
    for fits, of_content in _FORMATS:
        if fits(path.name.lower()):
            names, problems = _unique(of_content(_parsed(path))), ()
            return Requirements(names, problems)
    problems_found: list[str] = []
    return Requirements(_unique(_of_lines(path, set(), problems_found)), tuple(problems_found))


def decoded(content: bytes) -> str:
    """Decode a text file by its byte order mark, by its zero bytes (UTF-16 without a mark), else as UTF-8.

    Content that is not UTF-8 is read as Latin-1, in which names of distributions are the same.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    if b"\0" in content[:200]:
        even, odd = content[0:200:2].count(0), content[1:200:2].count(0)
        return content.decode("utf-16-le" if odd >= even else "utf-16-be", errors="replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read(path: Path) -> str:
    try:
        return decoded(path.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror or error_message(error)}): name another file"
        ) from None


def _of_lines(path: Path, read: set[Path], problems: list[str]) -> Iterator[str]:
    """Yield names in a requirements file and in the files that it includes; read each file once."""
    if path.resolve() in read:
        return
    read.add(path.resolve())
    if path.name.lower().endswith(_OTHER_FORMATS):
        raise ConfigError(
            f"{path}: is no list of requirements: name a requirements.txt, pyproject.toml or lock file, or what it "
            "lists by --libraries"
        )
    text = _CONTINUED.sub(" ", _read(path).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub("", raw).strip()
        option = _OPTION.match(line)
        if option and option[1] in _INCLUDES:
            yield from _of_lines(_included(path, option[2].strip().strip("\"'"), number), read, problems)
            continue
        if line.startswith("-"):
            # An editable project has only the name in its address; other options have no name.
            address = option[2].strip() if option and option[1] in _EDITABLE else ""
            name: str | None = _named_by_address(address)
        else:
            name = _named(line)
        if name is None:
            problems.append(f"{path}, line {number}: {elided(line, _SHOWN)!r} names no distribution")
        if name:
            yield name


def _included(path: Path, name: str, number: int) -> Path:
    if "://" in name:
        raise ConfigError(f"{path}, line {number}: includes {name}: download that file, and include its copy")
    found = path.parent / name
    try:
        found.stat()
    except (OSError, ValueError):  # ValueError: no file can have this name
        raise ConfigError(
            f"{path}, line {number}: includes {elided(name, _SHOWN)}, which is not there: add it or take out the line"
        ) from None
    return found


def _named(line: str) -> str | None:
    """Return the distribution that a line names; "" for a path without a name; None if not understood."""
    if not line:
        return ""
    asked = _OPTIONS.sub("", line).strip()
    try:
        return Requirement(asked).name
    except InvalidRequirement:
        pass
    if re.match(r"[a-z][a-z+]*://|\.{0,2}/|\.+$|file:|[a-zA-Z]:\\|\.\\", asked) or asked.endswith(
        (".whl", ".tar.gz", ".zip")
    ):
        return _named_by_address(asked)
    # Versions in forms that older pip accepted, or conda's name=version=build.
    name = _NAME.match(asked)
    rest = asked[name.end() :].lstrip() if name else ""
    return name[0] if name and (not rest or rest[0] in "=<>!~;[@(") else None


def _named_by_address(address: str) -> str:
    """Return the distribution of a URL or path, from egg= or the file name of a wheel or archive; "" if unknown."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if egg := _EGG.search(parts.fragment):
        return egg[1]
    file = unquote(parts.path).replace("\\", "/").rpartition("/")[2]
    try:
        return str((parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename)(file)[0])
    except (InvalidWheelFilename, InvalidSdistFilename):
        return ""


def _parsed(path: Path) -> dict[str, Any]:
    """Read the content of a TOML or JSON file."""
    text = _read(path)
    is_json = path.name.lower() == "pipfile.lock"
    try:
        found = json.loads(text) if is_json else tomllib.loads(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))
    except (ValueError, RecursionError) as error:  # both formats' errors are ValueErrors
        kind = "JSON" if is_json else "TOML"
        raise ConfigError(f"{path}: is no {kind} ({error_message(error)}): correct it") from None
    return _mapping(found)


def _of_pyproject(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield names in the project's dependencies, extras and groups, also in the tables of Poetry, uv and PDM."""
    project, tool = _mapping(content.get("project")), _mapping(content.get("tool"))
    poetry, uv, pdm = (_mapping(tool.get(name)) for name in ("poetry", "uv", "pdm"))
    lists = [project.get("dependencies"), *_mapping(project.get("optional-dependencies")).values()]
    lists += _mapping(content.get("dependency-groups")).values()
    lists += [uv.get("dev-dependencies"), *_mapping(pdm.get("dev-dependencies")).values()]
    for one in lists:
        yield from (_named(text) or "" for text in _texts(one))
    groups = [poetry, *_mapping(poetry.get("group")).values()]
    for group in groups:
        for table in ("dependencies", "dev-dependencies"):
            yield from (name for name in _mapping(_mapping(group).get(table)) if name.lower() != "python")


def _of_packages(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield names in poetry.lock, uv.lock, pdm.lock and pylock.toml, without the project itself (in uv.lock)."""
    for packages in (content.get("package"), content.get("packages")):
        for package in packages if isinstance(packages, list) else ():
            source = _mapping(_mapping(package).get("source"))
            if not {"virtual", "editable"} & set(source):
                yield str(_mapping(package).get("name") or "")


def _of_pipfile(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield names in Pipfile and Pipfile.lock."""
    for table in ("packages", "dev-packages", "default", "develop"):
        yield from _mapping(content.get(table))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> Iterator[str]:
    return (one for one in (value if isinstance(value, list) else ()) if isinstance(one, str))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(canonicalize_name(name)) for name in names if name))


#: Checks of a file name in lower case, each with the reader of that format. All other files are requirements.
_FORMATS: tuple[tuple[Callable[[str], bool], Callable[[Mapping[str, Any]], Iterator[str]]], ...] = (
    (lambda name: name == "pyproject.toml", _of_pyproject),
    (lambda name: name in ("pipfile", "pipfile.lock"), _of_pipfile),
    (lambda name: name in ("uv.lock", "poetry.lock", "pdm.lock") or name.endswith(".toml"), _of_packages),
)
