"""Find and remove unneeded files of a store: artifacts without a recorded run, abandoned work, old records.

Publishing or finding an artifact counts as use. So a run in progress keeps its inputs, although it has no record yet.
Records are removed first: a removal that is killed leaves no record of missing artifacts.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Literal, NamedTuple, get_args

from pydantic import Field, ValidationError

from bigcodeflow import results
from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.plugins import call_plugin, plugin_entries, study_entries
from bigcodeflow.core.schemas import DERIVED_FOLDER, STAGE_FOLDERS
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.generation import ledger_key
from bigcodeflow.pipeline.live_files import ENDED_FOLDER, LIVE_FOLDER, live_runs
from bigcodeflow.results.run_settings import setting_of
from bigcodeflow.results.runs import RecordedRun, labels_file, recorded_runs
from bigcodeflow.store import Store, StoredFolder, open_store

#: In the order of removal: a record before the artifacts that it names.
Kind = Literal["run record", "artifact", "unfinished work", "debris", "answers"]
_ORDER: tuple[Kind, ...] = get_args(Kind)
_FOLDERS = (*dict.fromkeys(STAGE_FOLDERS.values()), DERIVED_FOLDER, "quarantine", LIVE_FOLDER, ENDED_FOLDER)
_ANSWERS = "answers"
_UNIT = 1024


class RetentionConfig(SettingsModel):
    """Limits of age and number that decide which runs and artifacts of a store are kept."""

    store: str = "results/store"
    """Folder of artifacts that is cleaned, or a URL such as s3://bucket/prefix."""
    older_than_days: float = Field(default=30.0, ge=1, le=36_500)
    """Remove only files that were not used for this number of days."""
    keep_runs_per_name: int = Field(default=0, ge=0, le=100_000)
    """Keep only this number of newest records of runs with the same name, model, setting and set of tasks, and the
    artifacts that these records need. 0 keeps every record."""
    answers: bool = False
    """Also remove models' answers that no recorded run needs. They were paid for, and to ask again costs again."""
    dry_run: bool = True
    """List the files that would be removed, and remove nothing."""


class Removable(NamedTuple):
    """A file or folder of the store that may be removed."""

    kind: Kind
    name: str
    """Name within the store, such as execution/KEY."""
    size_bytes: int
    last_used_at: datetime
    reason: str


def removable(config: RetentionConfig, now: datetime) -> list[Removable]:
    """List all files and folders that may be removed, records first; raise ArtifactError if a record cannot be read."""
    store, limit = open_store(config.store), now - timedelta(days=config.older_than_days)
    keep, newer = config.keep_runs_per_name, Counter[tuple[str, ...]]()
    kept: list[RecordedRun] = []
    found: list[Removable] = []
    for run in reversed(recorded_runs(store.location)):
        tasks = json.dumps(run.config.get("dataset"), sort_keys=True)
        asked = (run.run, run.model, run.board, tasks, setting_of(run).key)
        newer[asked] += 1
        if not keep or newer[asked] <= keep or (run.finished_at or run.started_at) >= limit:
            kept.append(run)
        else:
            found.append(_record_of(run, f"{keep:,} newer {'run' if keep == 1 else 'runs'} called {run.run}"))
    found.reverse()
    artifacts = _needed_artifacts(store, kept)
    answers = {f"{_ANSWERS}/{key}" for run in kept if (key := _answers_key(run))}
    # In folders of studies only debris is removed: a result may have taken hours, and no record names it.
    for folder in (*_FOLDERS, *study_entries(), *([_ANSWERS] if config.answers else [])):
        for entry in store.contents(folder):
            kind, reason = _classified(entry, artifacts, answers)
            if kind is not None:
                found.append(Removable(kind, entry.name, entry.size_bytes, entry.last_used_at, reason))
    return sorted((one for one in found if one.last_used_at < limit), key=_order)


def removable_with(store: Store, runs: Sequence[RecordedRun]) -> list[Removable]:
    """List the records of ``runs``, and their artifacts that no other run and no plug-in needs.

    Raise ArtifactError while a run is in progress: that run may use the artifacts, and has no record yet.
    """
    now = datetime.now(UTC)
    if runs and any(not one.is_silent(now) for one in live_runs(store.root, now)):
        raise ArtifactError(
            f"{store.location}: a run is in progress and may use these artifacts: wait until it has ended"
        )
    gone = {run.record for run in runs}
    kept = [run for run in recorded_runs(store.location) if run.record not in gone]
    own = _names_of(one for run in runs for one in (run.keys, *run.rounds)) - _needed_artifacts(store, kept)
    entries = (entry for folder in dict.fromkeys(STAGE_FOLDERS.values()) for entry in store.contents(folder))
    return [_record_of(run, "named") for run in runs] + [
        Removable("artifact", entry.name, entry.size_bytes, entry.last_used_at, "no other run needs it")
        for entry in entries
        if entry.name in own
    ]


def remove(config: RetentionConfig, found: Iterable[Removable], now: datetime) -> list[Removable]:
    """Remove ``found``, except entries used since they were listed; rebuild the catalog; return the removed entries."""
    return remove_unused(open_store(config.store), found, now - timedelta(days=config.older_than_days))


def remove_unused(store: Store, found: Iterable[Removable], limit: datetime) -> list[Removable]:
    """Remove ``found``: run records and their labels files always, other entries only if not used since ``limit``."""
    gone = []
    for one in sorted(found, key=_order):
        if one.kind == "run record":
            store.remove_file(one.name)
            store.remove_file(labels_file(PurePosixPath(one.name).stem))
        # Local runs that ask for answers hold a lock on them.
        elif not store.remove_unused(one.name, limit, lock="lock" if one.kind == "answers" else ""):
            continue  # somebody has used it meanwhile
        gone.append(one)
    if gone:
        results.rebuild_catalog(store.location)
    return gone


def removed_rows(found: Iterable[Removable]) -> list[dict[str, str]]:
    """Return a table row per removable file or folder, the largest first, as a mapping from column to text."""
    return [
        {
            "kind": one.kind,
            "what": one.name,
            "size": size_text(one.size_bytes),
            "last used": one.last_used_at.strftime("%Y-%m-%d"),
            "why": one.reason,
        }
        for one in sorted(found, key=lambda one: -one.size_bytes)
    ]


def totals(found: Iterable[Removable]) -> str:
    """Describe the number of removable entries of each kind, and their total size, in a single line."""
    found = list(found)
    counts = Counter(one.kind for one in found)
    parts = [f"{counts[kind]:,} x {kind}" for kind in _ORDER if counts[kind]]
    return ", ".join([*parts, size_text(sum(one.size_bytes for one in found))]) if found else "nothing"


def size_text(size_bytes: int) -> str:
    """Format a size with a suitable unit, such as '1.5 MiB'."""
    size, units = float(size_bytes), ["B", "KiB", "MiB", "GiB"]
    while size >= _UNIT and len(units) > 1:
        size /= _UNIT
        units.pop(0)
    return f"{size:,.0f} {units[0]}" if units[0] == "B" else f"{size:,.1f} {units[0]}"


def _record_of(run: RecordedRun, reason: str) -> Removable:
    name = f"runs/{run.record}.json"
    size_bytes = (run.store.root / name).stat().st_size
    return Removable("run record", name, size_bytes, run.finished_at or run.started_at, reason)


def _needed_artifacts(store: Store, runs: Iterable[RecordedRun]) -> set[str]:
    """Return the names of the artifacts that these runs or a plug-in need."""
    keys: list[Mapping[str, str]] = [one for run in runs for one in (run.keys, *run.rounds)]
    for name, entry in plugin_entries("bigcodeflow.retention").items():
        keys += _needed_by(name, entry.value, store.location)
    return _names_of(keys)


def _needed_by(name: str, path: str, location: str) -> list[Mapping[str, str]]:
    """Return the artifact keys that a plug-in needs, by stage, as mappings; raise ConfigError if the plug-in fails."""
    subject = f"the entry point {name} of bigcodeflow.retention"
    found: list[Mapping[str, str]] = call_plugin(path, subject, location, returns=list)
    if not all(isinstance(one, Mapping) for one in found):
        raise ConfigError(
            f"{subject} is a plug-in, {path}, that must return a list of mappings from stage to artifact key, but an "
            "element of its list is not a mapping: correct the plug-in"
        )
    return found


def _names_of(keys: Iterable[Mapping[str, str]]) -> set[str]:
    return {f"{STAGE_FOLDERS[name]}/{key}" for one in keys for name, key in one.items() if name in STAGE_FOLDERS}


def _order(one: Removable) -> int:
    return _ORDER.index(one.kind)


def _classified(entry: StoredFolder, artifacts: set[str], answers: set[str]) -> tuple[Kind | None, str]:
    """Return kind and reason if the entry may be removed, else (None, ''); ``artifacts`` and ``answers`` are kept."""
    folder, _, key = entry.name.partition("/")
    if folder == _ANSWERS:
        return (None, "") if entry.name in answers else ("answers", "no recorded run needs them")
    if key.endswith(".partial"):
        return "unfinished work", "no later run has continued it"
    # A run in progress writes its live file every two seconds.
    if key.endswith((".tmp", ".old")) or entry.torn or folder in (LIVE_FOLDER, ENDED_FOLDER):
        return "debris", "left by a process that was killed"
    if folder == DERIVED_FOLDER:
        return "artifact", "a study can compute it again"
    if folder in STAGE_FOLDERS.values() and "." not in key and entry.name not in artifacts:
        return "artifact", "no recorded run needs it"
    return None, ""


def _answers_key(run: RecordedRun) -> str | None:
    if run.config.get("samples", {}).get("source") != "model":
        return None
    try:
        return ledger_key(GenerationConfig.model_validate(run.config.get("generation", {})))
    except ValidationError:
        return None  # its settings are of another version, which keeps its answers in another place
