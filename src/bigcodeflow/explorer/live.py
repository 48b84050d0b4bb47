"""Runs in progress, read from the files ``{store}/live/{run_id}.json`` that their processes write.

A process rewrites its file every few seconds, and removes it at the end.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.results.formatting import board_title

FOLDER = "live"
#: A process that has not written for this time hangs, was killed, or its machine stopped.
_SILENT_AFTER = timedelta(seconds=60)
#: The file of a killed process remains; it is ignored after this time.
_FORGOTTEN_AFTER = timedelta(days=1)
_MOST_FILES = 200
_MOST_BYTES = 1 << 20

_Utc = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
_Seconds = Annotated[float, Field(allow_inf_nan=False, ge=0)]
_Count = Annotated[int, Field(ge=0)]


class _Written(BaseModel):
    """Base of models that this or another version wrote; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ExecutingSample(_Written):
    """A sample that a sandbox executes now."""

    task_id: str
    variant: str = ""
    sample_id: int | str = 0
    since: _Utc
    limit_seconds: _Seconds | None = None

    def seconds(self, now: datetime) -> float:
        """Return the seconds since the start of its execution."""
        return max(0.0, (now - self.since).total_seconds())

    def percent(self, now: datetime) -> float | None:
        """Return the percentage of its time limit that has passed; None if no limit is known."""
        return 100.0 * min(1.0, self.seconds(now) / self.limit_seconds) if self.limit_seconds else None


class LiveRun(_Written):
    """A run in progress, as its process described it last."""

    run_id: str
    name: str = ""
    pid: int | None = None
    host: str = ""
    started_at: _Utc
    updated_at: _Utc
    stage: str = ""
    done: _Count = 0
    total: _Count = 0
    eta_seconds: _Seconds | None = None
    executing: tuple[ExecutingSample, ...] = ()
    """The longest first; the writer names a few."""
    model: str | None = None
    split: str | None = None
    subset: str | None = None
    note: str = ""
    """What its stage says of itself in a line."""

    @property
    def board(self) -> str:
        """Title of subset and split."""
        return board_title(self.subset or "", self.split or "")

    @property
    def percent(self) -> float:
        """Percentage of the stage that is done; 0 if the total is not known."""
        return 100.0 * min(self.done, self.total) / self.total if self.total else 0.0

    def is_silent(self, now: datetime) -> bool:
        """Tell if its process has not written its file for more than a minute."""
        return now - self.updated_at > _SILENT_AFTER

    def seconds(self, now: datetime) -> float:
        """Return the seconds since its start; for a silent run, until its last update."""
        return max(0.0, ((self.updated_at if self.is_silent(now) else now) - self.started_at).total_seconds())

    def eta(self, now: datetime) -> float | None:
        """Return the estimated remaining seconds; None if they are not known or the run is silent."""
        if self.eta_seconds is None or self.is_silent(now):
            return None
        return max(0.0, self.eta_seconds - (now - self.updated_at).total_seconds())


def live_runs(store_root: Path, now: datetime) -> Sequence[LiveRun]:
    """Return the runs in progress, the latest start first; skip files that do not describe a run."""
    files = sorted((store_root / FOLDER).glob("*.json"))[:_MOST_FILES]
    found = [run for path in files if (run := _read(path)) and now - run.updated_at <= _FORGOTTEN_AFTER]
    return sorted(found, key=lambda run: run.started_at, reverse=True)


def _read(path: Path) -> LiveRun | None:
    try:
        with path.open("rb") as file:
            return LiveRun.model_validate_json(file.read(_MOST_BYTES))
    except (OSError, ValidationError):  # removed in the meantime, or of another program
        return None
