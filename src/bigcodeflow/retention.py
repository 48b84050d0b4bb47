"""What may go from a store: artifacts that no recorded run needs, unfinished work that is left alone, old records.

Age is the time since last use: publishing and finding an artifact both count as use, so that a run in progress, which
has no record yet, keeps what it reads. Records go before the artifacts that they name: whatever kills a removal, no
record is left that names what is gone.
"""

import fcntl
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from bigcodeflow import results
from bigcodeflow.artifacts import Store
from bigcodeflow.config import GenerationConfig
from bigcodeflow.errors import ConfigError
from bigcodeflow.forms import Form
from bigcodeflow.generation.setting import ledger_key
from bigcodeflow.locations import located
from bigcodeflow.results import leaderboard
from bigcodeflow.results.leaderboard.history import snapshot_paths
from bigcodeflow.results.runs import STAGES, RecordedRun, recorded_runs

Kind = Literal["run record", "artifact", "unfinished work", "debris", "answers"]
#: A record goes before the artifacts that it names.
_ORDER: tuple[Kind, ...] = ("run record", "artifact", "unfinished work", "debris", "answers")
_FOLDERS = tuple(dict.fromkeys((*STAGES.values(), "quarantine")))
_MANIFEST = "manifest.json"
_LOCK = "lock"
_UNIT = 1024


class RetentionConfig(Form):
    """What is kept."""

    store: str = "results/store"
    """Folder of artifacts that is cleaned."""
    older_than_days: float = Field(default=30.0, ge=1, le=36_500)
    """Only what nobody has used for so many days goes."""
    keep_runs_per_name: int = Field(default=0, ge=0, le=100_000)
    """Of each run name, keep the records of so many newest runs; older ones go, and with them artifacts that nothing
    else needs. 0 keeps every record."""
    answers: bool = False
    """Also remove models' answers that no recorded run needs. They were paid for, and to ask again costs again."""
    dry_run: bool = True
    """Say what would go, and remove nothing."""


class Removable(NamedTuple):
    """One thing that may go."""

    kind: Kind
    path: Path
    size_bytes: int
    last_used_at: datetime
    reason: str


def removable(config: RetentionConfig, now: datetime) -> list[Removable]:
    """Everything that may go, records first; reads the store only.

    Raises:
        ConfigError: the store is not a folder of this machine.
        ArtifactError: a run record or a leaderboard snapshot cannot be read, so that nobody can tell what is needed.
    """
    place = located(config.store)
    if isinstance(place, str):
        raise ConfigError(f"store {place}: only a store in a folder can be cleaned: name one")
    store = Store(config.store)
    limit = now - timedelta(days=config.older_than_days)
    runs = recorded_runs(store.root)
    gone = _surplus(runs, config.keep_runs_per_name, limit)
    kept = [run for run in runs if run not in gone]
    found = [
        *(_record(store, run, config.keep_runs_per_name) for run in gone),
        *_artifacts(store, _needed(store, kept)),
        *_leftovers(store),
        *(_answers(store, kept) if config.answers else ()),
    ]
    return [one for one in found if one.last_used_at < limit]


def remove(config: RetentionConfig, found: Iterable[Removable], now: datetime) -> list[Removable]:
    """Remove what was found and is still unused, and build the catalog anew; what went is returned.

    Raises:
        ArtifactError: the catalog cannot be built.
    """
    limit = now - timedelta(days=config.older_than_days)
    gone = [one for one in sorted(found, key=lambda one: _ORDER.index(one.kind)) if _remove(one, limit)]
    if gone:
        results.rebuild_catalog(Store(config.store).root)
    return gone


def removed_rows(found: Iterable[Removable]) -> list[dict[str, str]]:
    """One row of texts a thing, as tables show it: the largest first."""
    return [
        {
            "kind": one.kind,
            "what": f"{one.path.parent.name}/{one.path.name}",
            "size": size_text(one.size_bytes),
            "last used": one.last_used_at.strftime("%Y-%m-%d"),
            "why": one.reason,
        }
        for one in sorted(found, key=lambda one: -one.size_bytes)
    ]


def totals(found: Iterable[Removable]) -> str:
    """How many of each kind, and their size together."""
    things = list(found)
    counts = Counter(one.kind for one in things)
    told = ", ".join(f"{counts[kind]:,} x {kind}" for kind in _ORDER if counts[kind]) or "nothing"
    return f"{told}, {size_text(sum(one.size_bytes for one in things))}" if things else told


def size_text(size_bytes: int) -> str:
    """A size in the unit that suits it."""
    size, units = float(size_bytes), ["B", "KiB", "MiB", "GiB"]
    while size >= _UNIT and len(units) > 1:
        size /= _UNIT
        units.pop(0)
    return f"{size:,.0f} {units[0]}" if units[0] == "B" else f"{size:,.1f} {units[0]}"


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
    path = store.root / "runs" / f"{run.record}.json"
    reason = f"{keep:,} newer {'run' if keep == 1 else 'runs'} called {run.run}"
    return Removable("run record", path, _size(path), run.finished_at or run.started_at, reason)


def _needed(store: Store, runs: list[RecordedRun]) -> set[tuple[str, str]]:
    """Folder and key of every artifact of the runs, and of the latest leaderboard, which the next is compared with."""
    needed = {(STAGES[name], key) for run in runs for name, key in run.keys.items() if name in STAGES}
    if snapshot_paths(store.root):
        links = [entry.run for entry in leaderboard.find_snapshot(store.root, "latest").entries if entry.run]
        needed |= {(STAGES[name], key) for link in links for name, key in link.artifacts.items() if name in STAGES}
    return needed


def _artifacts(store: Store, needed: set[tuple[str, str]]) -> Iterator[Removable]:
    for stage in dict.fromkeys(STAGES.values()):
        for manifest in sorted(store.root.glob(f"{stage}/*/{_MANIFEST}")):
            folder = manifest.parent
            # Names with a dot are unfinished or on their way out.
            if "." not in folder.name and (stage, folder.name) not in needed:
                yield _removable("artifact", folder, "no recorded run needs it")


def _leftovers(store: Store) -> Iterator[Removable]:
    """Unfinished work, and what a killed publisher or a killed removal left."""
    for folder in _FOLDERS:
        for path in sorted((store.root / folder).glob("*.*")):
            if path.is_dir() and path.suffix == ".partial":
                yield _removable("unfinished work", path, "nobody has gone on with it")
            elif path.suffix in {".tmp", ".old"}:
                yield _removable("debris", path, "left by something that was killed")


def _answers(store: Store, runs: list[RecordedRun]) -> Iterator[Removable]:
    needed = {key for run in runs if (key := _answers_key(run))}
    for path in sorted((store.root / "answers").glob("*")):
        if path.is_dir() and path.name not in needed:
            yield _removable("answers", path, "no recorded run needs them")


def _answers_key(run: RecordedRun) -> str | None:
    if run.config.get("samples", {}).get("source") != "model":
        return None
    try:
        return ledger_key(GenerationConfig.model_validate(run.config.get("generation", {})))
    except ValidationError:
        return None  # its settings are of another version, which keeps its answers in another place


def _removable(kind: Kind, path: Path, reason: str) -> Removable:
    return Removable(kind, path, _size(path), _last_used(kind, path), reason)


def _remove(one: Removable, limit: datetime) -> bool:
    """Take one thing away in a single step, then delete it; false where somebody has used it meanwhile."""
    if one.kind == "run record":
        one.path.unlink(missing_ok=True)
        return True
    if one.kind == "answers":
        return _remove_answers(one.path)
    if _last_used(one.kind, one.path) >= limit:
        return False
    aside = one.path.with_name(f"{one.path.name}.{uuid.uuid4().hex}.old")
    try:
        one.path.rename(aside)
    except FileNotFoundError:
        return False  # published, removed or displaced meanwhile
    if _last_used(one.kind, aside) >= limit:
        # Found by a run between the last look and the renaming: it goes back, unless that run has made it anew.
        with suppress(OSError):
            aside.rename(one.path)
        return False
    shutil.rmtree(aside, ignore_errors=True) if aside.is_dir() else aside.unlink(missing_ok=True)
    return True


def _remove_answers(folder: Path) -> bool:
    """Remove a setting's answers under their own lock, which a run that asks holds."""
    with (folder / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(folder, ignore_errors=True)
    return True


def _last_used(kind: Kind, path: Path) -> datetime:
    """An artifact's manifest is touched when it is found; of anything else the newest file tells."""
    manifest = path / _MANIFEST
    files = [manifest] if kind == "artifact" and manifest.exists() else _files(path)
    return datetime.fromtimestamp(max(map(_modified, files), default=0.0), UTC)


def _size(path: Path) -> int:
    total = 0
    for file in _files(path):
        with suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def _files(path: Path) -> Iterator[Path]:
    """The thing itself and every file below it."""
    yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
