"""Studies that installed distributions bring, found by their entry points; docs/studies.md describes one."""

import logging
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

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
logger = logging.getLogger(__name__)


@cache
def study_entries() -> Mapping[str, EntryPoint]:
    """Return the entry points of installed studies by name, sorted; of equal names, this package's study counts."""
    found = sorted(entry_points(group=GROUP), key=_is_own)
    by_name = {one.name: one for one in found if _NAME.fullmatch(one.name) and one.name not in _TAKEN}
    return dict(sorted(by_name.items()))


@cache
def loaded_study(name: str) -> Any:
    """Load a study by its name; log a warning and return None if one of another distribution cannot be loaded."""
    entry = study_entries()[name]
    try:
        return entry.load()()
    except Exception as error:
        if _is_own(entry):
            raise
        logger.warning("study %s (%s) is left out, as it cannot be loaded: %s", name, entry.value, error)
        return None


def foreign_studies() -> dict[str, Any]:
    """Return the studies that other distributions bring, by name."""
    names = [name for name, entry in study_entries().items() if not _is_own(entry)]
    return {name: study for name in names if (study := loaded_study(name)) is not None}


def _is_own(entry: EntryPoint) -> bool:
    return entry.value.startswith("bigcodeflow.")
