"""What of a store nobody needs any more, and its removal."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from pydantic import Field, ValidationError

from bigcodeflow import leaderboard, results
from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.generation.model_settings import ledger_key
from bigcodeflow.leaderboard.history import snapshot_paths
from bigcodeflow.pipeline.retention.bucket import BucketPlace
from bigcodeflow.pipeline.retention.folder import FolderPlace
from bigcodeflow.pipeline.retention.things import ORDER, Entry, Kind, Place, Removable
from bigcodeflow.results.runs import STAGES, RecordedRun, recorded_runs
from bigcodeflow.store import Store

_STAGE_FOLDERS = tuple(dict.fromkeys(STAGES.values()))
_FOLDERS = (*_STAGE_FOLDERS, "quarantine")
_ANSWERS = "answers"
_UNFINISHED = ".partial"
_DEBRIS = (".tmp", ".old")


class RetentionConfig(SettingsModel):
    """What is kept."""

    store: str = "results/store"
    """Folder of artifacts that is cleaned, or a URL such as s3://bucket/prefix."""
    older_than_days: float = Field(default=30.0, ge=1, le=36_500)
    """Only what nobody has used for so many days goes."""
    keep_runs_per_name: int = Field(default=0, ge=0, le=100_000)
    """Of each run name, keep the records of so many newest runs; older ones go, and with them artifacts that nothing
    else needs. 0 keeps every record."""
    answers: bool = False
    """Also remove models' answers that no recorded run needs. They were paid for, and to ask again costs again."""
    dry_run: bool = True
    """Say what would go, and remove nothing."""


def removable(config: RetentionConfig, now: datetime) -> list[Removable]:
    """Everything that may go, records first; reads the store only.

    Raises:
        ArtifactError: a run record or a leaderboard snapshot cannot be read, so that nobody can tell what is needed; or
            the store cannot be reached.
    """
    store = Store(config.store)
    place, limit = _place(store), now - timedelta(days=config.older_than_days)
    runs = recorded_runs(store.location)
    gone = _surplus(runs, config.keep_runs_per_name, limit)
    kept = [run for run in runs if run not in gone]
    needed = _needed(store, kept)
    found = [
        *(_record(store, run, config.keep_runs_per_name) for run in gone),
        *(one for folder in _FOLDERS for entry in place.entries(folder) for one in _judged(entry, needed)),
        *(_answers(place, kept) if config.answers else ()),
    ]
    return sorted((one for one in found if one.last_used_at < limit), key=_order)


def remove(config: RetentionConfig, found: Iterable[Removable], now: datetime) -> list[Removable]:
    """Remove what was found and is still unused, and build the catalog anew; what went is returned.

    Raises:
        ArtifactError: the catalog cannot be built, or the store cannot be reached.
    """
    store = Store(config.store)
    place, limit = _place(store), now - timedelta(days=config.older_than_days)
    gone = [one for one in sorted(found, key=_order) if place.remove(one, limit)]
    if gone:
        results.rebuild_catalog(store.location)
    return gone


def _place(store: Store) -> Place:
    return BucketPlace(store.remote, store.root) if store.remote else FolderPlace(store.root)


def _order(one: Removable) -> int:
    return ORDER.index(one.kind)


def _surplus(runs: list[RecordedRun], keep: int, limit: datetime) -> list[RecordedRun]:
    """Records beyond the newest of their name, old enough to go."""
    if not keep:
        return []
    newer: Counter[str] = Counter()
    found = []
    for run in reversed(runs):
        newer[run.run] += 1
        if newer[run.run] > keep and (run.finished_at or run.started_at) < limit:
            found.append(run)
    return found


def _record(store: Store, run: RecordedRun, keep: int) -> Removable:
    name = f"runs/{run.record}.json"
    reason = f"{keep:,} newer {'run' if keep == 1 else 'runs'} called {run.run}"
    size_bytes = (store.root / name).stat().st_size
    return Removable("run record", name, size_bytes, run.finished_at or run.started_at, reason)


def _needed(store: Store, runs: list[RecordedRun]) -> set[str]:
    """Names of every artifact of the runs, and of the latest leaderboard, which the next is compared with."""
    needed = {f"{STAGES[name]}/{key}" for run in runs for name, key in run.keys.items() if name in STAGES}
    if snapshot_paths(store.location):
        links = [entry.run for entry in leaderboard.find_snapshot(store.location, "latest").entries if entry.run]
        needed |= {f"{STAGES[name]}/{key}" for link in links for name, key in link.artifacts.items() if name in STAGES}
    return needed


def _judged(entry: Entry, needed: set[str]) -> Iterator[Removable]:
    """The entry, where it may go: an artifact, unfinished work, or what a killed publisher or a killed removal left."""
    folder, _, key = entry.name.partition("/")
    if key.endswith(_UNFINISHED):
        yield _of(entry, "unfinished work", "nobody has gone on with it")
    elif key.endswith(_DEBRIS) or entry.torn:
        yield _of(entry, "debris", "left by something that was killed")
    elif folder in _STAGE_FOLDERS and "." not in key and entry.name not in needed:
        yield _of(entry, "artifact", "no recorded run needs it")


def _answers(place: Place, runs: list[RecordedRun]) -> Iterator[Removable]:
    needed = {f"{_ANSWERS}/{key}" for run in runs if (key := _answers_key(run))}
    for entry in place.entries(_ANSWERS):
        if entry.name not in needed:
            yield _of(entry, "answers", "no recorded run needs them")


def _of(entry: Entry, kind: Kind, reason: str) -> Removable:
    return Removable(kind, entry.name, entry.size_bytes, entry.last_used_at, reason)


def _answers_key(run: RecordedRun) -> str | None:
    if run.config.get("samples", {}).get("source") != "model":
        return None
    try:
        return ledger_key(GenerationConfig.model_validate(run.config.get("generation", {})))
    except ValidationError:
        return None  # its settings are of another version, which keeps its answers in another place
