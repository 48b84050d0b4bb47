"""Recorded runs: what ran, under which settings, and where its artifacts lie."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.artifacts import Store
from bigcodeflow.errors import ArtifactError

_FOLDER = "runs"
#: Which stage's folder an artifact of a run lies in.
STAGES: Mapping[str, str] = {
    "dataset": "dataset",
    "generation": "generation",
    "sanitizing": "sanitizing",
    "ground_truth": "execution",
    "execution": "execution",
    "aggregation": "aggregation",
}


class _Quarantine(BaseModel):
    model_config = ConfigDict(extra="ignore")

    tasks: tuple[str, ...] = ()


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")

    run: str
    model: str = ""
    started_at: AwareDatetime
    finished_at: AwareDatetime | None = None
    config: dict[str, Any] = Field(default_factory=dict)
    artifacts: dict[str, str | None] = Field(default_factory=dict)
    quarantine: _Quarantine = _Quarantine()
    imported: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One finished run of a store."""

    record: str
    """Name of the record, unique and in the order of time."""
    run: str
    """Name that people gave the run; several records may share it."""
    model: str
    """The model, as the original's file names state it."""
    started_at: datetime
    finished_at: datetime | None
    config: Mapping[str, Any]
    """The run's configuration, as `RunConfig` dumps it."""
    keys: Mapping[str, str]
    """Artifact keys by 'dataset', 'generation', 'sanitizing', 'ground_truth', 'execution' and 'aggregation'."""
    store: Store
    quarantined: frozenset[str] = frozenset()
    """Ids of its tasks that were known not to judge reliably when it was scored."""
    imported: Mapping[str, Any] = field(default_factory=dict)
    """What an imported run was made of; empty for runs of here. What nobody knows of its evaluation is null in its
    configuration."""

    @property
    def split(self) -> str:
        """Complete or instruct."""
        return str(self.config.get("dataset", {}).get("split", ""))

    @property
    def subset(self) -> str:
        """Full or hard."""
        return str(self.config.get("dataset", {}).get("subset", ""))

    @property
    def excluded(self) -> frozenset[str]:
        """Quarantined tasks that its scores leave out."""
        leaves_out = self.config.get("execution", {}).get("quarantine") == "exclude"
        return self.quarantined if leaves_out else frozenset()

    def path(self, artifact: str) -> Path:
        """Parquet file of one of the run's artifacts.

        Raises:
            ArtifactError: the run did not make it, or it is gone.
        """
        key = self.keys.get(artifact)
        path = self.store.part(STAGES[artifact], key) if key else None
        if path is None:
            raise ArtifactError(
                f"run {self.record}: its {artifact} artifact is not in {self.store.location}: run it again"
            )
        return path


def recorded_runs(store_root: Path | str) -> list[RecordedRun]:
    """Every run that finished in the store, in the order of time.

    Raises:
        ArtifactError: a record that cannot be read.
    """
    store = Store(store_root)
    return [_read(path, store) for path in store.files(_FOLDER)]


def find_run(store_root: Path | str, name: str) -> RecordedRun:
    """The latest run of a record's, run's or model's name; 'latest' takes the latest of all.

    Raises:
        ArtifactError: there is none; the message names those that there are.
    """
    runs = recorded_runs(store_root)
    fitting = [run for run in runs if name in ("latest", run.record, run.run, run.model)]
    if fitting:
        return fitting[-1]
    known = list(dict.fromkeys(text for run in reversed(runs) for text in (run.run, run.model)))
    close = difflib.get_close_matches(name, known, n=3) or known[:10]
    there = f"it has {', '.join(close)}" if close else "it has none yet: run `bigcodeflow run` first"
    raise ArtifactError(f"{Store(store_root).location}: no recorded run is called {name!r}; {there}")


def _read(path: Path, store: Store) -> RecordedRun:
    try:
        record = _Record.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ArtifactError(
            f"{path}: is not a run record ({' '.join(str(error).split())}): delete it, or run that run again"
        ) from error
    return RecordedRun(
        record=path.stem,
        run=record.run,
        model=record.model or record.run,
        started_at=record.started_at.astimezone(UTC),
        finished_at=record.finished_at and record.finished_at.astimezone(UTC),
        config=record.config,
        keys={name: key for name, key in record.artifacts.items() if key},
        store=store,
        quarantined=frozenset(record.quarantine.tasks),
        imported=record.imported,
    )
