"""Plug-ins of installed distributions, found by their entry points; docs/studies.md describes a study."""

import logging
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import PurePath
from pkgutil import resolve_name
from typing import Any, TypeVar

from bigcodeflow.core.errors import BigCodeFlowError, ConfigError

GROUP = "bigcodeflow.studies"
#: A study's name is a folder of the store, a view of the catalog, a command and a flow.
_NAME = re.compile(r"[a-z][a-z0-9_]*")
#: Names that no study may have, because they are other folders of a store.
_TAKEN = frozenset(
    {
        *("dataset", "generation", "sanitizing", "execution", "aggregation"),
        *("answers", "live", "quarantine", "runs", "studies"),
    }
)
#: Packages of this distribution: the library, and the folders in extensions/.
_OWN = frozenset(
    {
        *("bigcodeflow", "bigcodeflow_benchmarks", "bigcodeflow_buckets", "bigcodeflow_clouds", "bigcodeflow_engines"),
        *("bigcodeflow_exports", "bigcodeflow_harnesses", "bigcodeflow_hosts", "bigcodeflow_leaderboard"),
        *("bigcodeflow_rewards", "bigcodeflow_space", "bigcodeflow_studies"),
    }
)
#: OWNER/NAME of a dataset on the hub or of a plug-in, with a version or a file.
_DATASET = re.compile(r"[\w.-]+/(?P<name>[\w.-]+)(?:[@#][^=]*)?(?:=(?P<file>.+))?")
_SUFFIX = re.compile(r"\.(parquet|jsonl(\.gz)?)$")
logger = logging.getLogger(__name__)

_Kind = TypeVar("_Kind")


@cache
def study_entries() -> Mapping[str, EntryPoint]:
    """Return the entry points of installed studies by name, sorted; invalid and reserved names are left out."""
    found = plugin_entries(GROUP).items()
    return {name: entry for name, entry in found if _NAME.fullmatch(name) and name not in _TAKEN}


@cache
def loaded_study(name: str) -> Any:
    """Load a study by its name; if another distribution's study cannot be loaded, log a warning and return None."""
    study = _loaded(study_entries()[name])
    return study() if study else None


def plugin_entries(group: str) -> Mapping[str, EntryPoint]:
    """Return a group's entry points by name, sorted; of several with the same name, this distribution's is chosen."""
    by_name = {one.name: one for one in sorted(entry_points(group=group), key=lambda one: is_own(one.value))}
    return dict(sorted(by_name.items()))


def load_plugin(path: str, subject: str, extra: str = "") -> Any:
    """Load the plug-in at ``path``, which is MODULE:NAME; error messages begin with ``subject``, such as 'the space'.

    Raise ConfigError if another distribution's plug-in cannot be loaded, or if a package of the pip extra ``extra``
    is missing.
    """
    try:
        return resolve_name(path)
    except Exception as error:
        if not is_own(path):
            raise ConfigError(f"{subject} is a plug-in, {path}, that cannot be loaded: {error}") from None
        if not extra or not isinstance(error, ImportError):
            raise
        raise ConfigError(
            f"{subject} needs a package that is not installed ({error.name}): pip install 'bigcodeflow[{extra}]'"
        ) from None


def call_plugin(path: str, subject: str, *arguments: Any, returns: type[_Kind]) -> _Kind:
    """Call the plug-in at ``path``; raise ConfigError if its result is not a ``returns``, or others' plug-ins fail."""
    plugin = load_plugin(path, subject)
    try:
        found = plugin(*arguments)
    except Exception as error:
        if is_own(path) or isinstance(error, BigCodeFlowError):
            raise
        raise ConfigError(f"{subject} is a plug-in, {path}, that fails: {type(error).__name__}: {error}") from None
    if not isinstance(found, returns):
        raise ConfigError(f"{subject} is a plug-in, {path}, whose result is not a {returns.__name__}: correct it")
    return found


def loaded_plugins(group: str, kind: type = object) -> dict[str, Any]:
    """Load a group's plug-ins by name; leave out, with a warning, plug-ins that fail to load or are not a ``kind``."""
    found = {}
    for name, entry in plugin_entries(group).items():
        plugin = _loaded(entry)
        if plugin is None:
            continue
        if isinstance(plugin, kind):
            found[name] = plugin
        else:
            problem = f"it is a {type(plugin).__name__}, but must be a {kind.__name__}"
            logger.warning("plug-in %s (%s) is left out: %s", name, entry.value, problem)
    return found


@cache
def benchmark_of(source: str) -> Any:
    """Return the benchmark plug-in that a ``dataset.source`` names (NAME, NAME=FILE, NAME@VERSION), else None."""
    name = re.split("[=@#]", source, maxsplit=1)[0]
    entry = plugin_entries("bigcodeflow.datasets").get(name)
    return entry and _loaded(entry)


@cache
def benchmark_name(source: str) -> str:
    """Return the name of the benchmark of a ``dataset.source``; empty for task files.

    The name is 'starter', 'bigcodebench', or a dataset's name without its owner. If the source names a file with
    another name, the file's name is added, as in 'code_generation_lite test6'.
    """
    found = _DATASET.fullmatch(source)
    if source.startswith("bigcode/bigcodebench"):
        return "bigcodebench"
    if found is None or (_SUFFIX.search(source) and not found["file"]):
        return source if source == "starter" else ""
    name, file = found["name"], _SUFFIX.sub("", PurePath(found["file"] or "").name)
    return name if file.lower() in ("", name.lower()) else f"{name} {file}"


def shown_benchmark(source: str) -> str:
    """Return the benchmark's name for titles; empty for BigCodeBench, its starter set and task files."""
    name = benchmark_name(source)
    return "" if name in ("bigcodebench", "starter") else name


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        if is_own(entry.value):
            raise
        logger.warning("plug-in %s (%s) is left out, as it cannot be loaded: %s", entry.name, entry.value, error)
        return None


def foreign_studies() -> dict[str, Any]:
    """Return the loaded studies of other distributions, by name."""
    names = [name for name, entry in study_entries().items() if not is_own(entry.value)]
    return {name: study for name in names if (study := loaded_study(name)) is not None}


def is_own(path: str) -> bool:
    """Tell if the object at ``path``, MODULE:NAME, belongs to this distribution."""
    return path.partition(":")[0].partition(".")[0] in _OWN
