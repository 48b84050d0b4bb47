"""Facts about BigCodeBench that its dataset does not carry itself."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from bigcodeflow.core.paths import shipped

UNKNOWN_LIBRARY_DOMAIN = "General"

#: Every task id of BigCodeBench, whichever part of it a source carries.
BIGCODEBENCH_IDS = frozenset(f"BigCodeBench/{number}" for number in range(1140))


@cache
def hard_task_ids() -> frozenset[str]:
    """The 148 ids of BigCodeBench-Hard."""
    return frozenset(json.loads(shipped("data/bigcodebench/hard_task_ids.json").read_text(encoding="utf-8")))


@cache
def library_domains() -> Mapping[str, str]:
    """The benchmark authors' table of top-level library names and their domains."""
    table = json.loads(shipped("data/bigcodebench/library_domains.json").read_text(encoding="utf-8"))
    return MappingProxyType(table)


def domains_of(libraries: Iterable[str]) -> list[str]:
    """Distinct domains of the libraries, sorted; an unknown library counts as General."""
    table = library_domains()
    return sorted({table.get(library.split(".")[0], UNKNOWN_LIBRARY_DOMAIN) for library in libraries})
