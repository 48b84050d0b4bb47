"""State files of runs without a record: ``{store}/live/{run_id}.json`` in progress, ``{store}/ended/`` if failed."""

import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import psutil
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.plugins import shown_benchmark
from bigcodeflow.results.formatting import board_title

LIVE_FOLDER, ENDED_FOLDER = "live", "ended"
#: Suffix of the file next to a live file that asks the run to end.
CANCEL_SUFFIX = ".cancel"
#: A process that has not written for this time hangs, was killed, or its machine stopped.
_SILENT_AFTER = timedelta(seconds=60)
#: The file of a killed process remains; after this time it is ignored, and removed if another machine wrote it.
_FORGOTTEN_AFTER = timedelta(days=1)
#: Tolerance in seconds: a process that began later than the run in the file is another one with the same id.
_CLOCK_SECONDS = 2.0
_KILLED = {"outcome": "killed"}
_MOST_FILES = 200
_MOST_BYTES = 1 << 20

_Utc = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
_Seconds = Annotated[float, Field(allow_inf_nan=False, ge=0)]
_Count = Annotated[int, Field(ge=0)]


class _Written(BaseModel):
    """Base of models read from files that another version may have written; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ExecutingSample(_Written):
    """Sample whose execution in a sandbox is in progress."""

    task_id: str
    variant: str = ""
    sample_id: int | str | None = 0
    """Number of the sample; None for an execution that checks a passing sample."""
    since: _Utc
    limit_seconds: _Seconds | None = None

    def seconds(self, now: datetime) -> float:
        """Return the seconds since the execution began."""
        return max(0.0, (now - self.since).total_seconds())

    def percent(self, now: datetime) -> float | None:
        """Return the percentage of the sample's time limit that has passed; None if no limit is known."""
        return 100.0 * min(1.0, self.seconds(now) / self.limit_seconds) if self.limit_seconds else None


class LiveState(_Written):
    """Content of a state file: the latest state of a run, written by the run's process."""

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
    open: _Count = 0
    """Number of executions in progress."""
    executing: tuple[ExecutingSample, ...] = ()
    """The samples in execution that have run longest, the longest first."""
    model: str | None = None
    split: str | None = None
    subset: str | None = None
    note: str = ""
    """Remark of the current stage about its progress, in a single line."""
    outcomes: dict[str, _Count] = {}
    """Number of final verdicts of samples by failure kind; passes are counted under ''."""
    log: tuple[str, ...] = ()
    """Last log lines of the run, and starts and ends of its stages, each with its time."""
    config: dict[str, Any] = {}
    """The run's configuration, as `RunConfig` dumps it."""
    outcome: str = ""
    """Way in which the run ended: 'crashed', 'cancelled' or 'killed'; empty for a run in progress."""
    error: str = ""
    """Message of the error that ended the run."""

    def has_ended(self) -> bool:
        """Return True if the run's process was on this machine and has ended."""
        if self.pid is None or self.host != socket.gethostname():
            return False
        try:
            process = psutil.Process(self.pid)
            is_another: bool = process.create_time() > self.started_at.timestamp() + _CLOCK_SECONDS
            return is_another or bool(process.status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:
            return False

    @property
    def board(self) -> str:
        """Title of the run's board: benchmark, subset and split."""
        benchmark = shown_benchmark(str(self.config.get("dataset", {}).get("source") or ""))
        return board_title(self.subset or "", self.split or "", benchmark=benchmark)

    @property
    def percent(self) -> float:
        """Percentage of the current stage that is finished; 0 if the total is not known."""
        return 100.0 * min(self.done, self.total) / self.total if self.total else 0.0

    def is_silent(self, now: datetime) -> bool:
        """Return True if the run's process has not written the state file for more than a minute."""
        return now - self.updated_at > _SILENT_AFTER

    def seconds(self, now: datetime) -> float:
        """Return the seconds from the run's start until ``now``, or until the last update if the run is silent."""
        return max(0.0, ((self.updated_at if self.is_silent(now) else now) - self.started_at).total_seconds())

    def eta(self, now: datetime) -> float | None:
        """Return the estimated remaining seconds; None if they are not known or the run is silent."""
        if self.eta_seconds is None or self.is_silent(now):
            return None
        return max(0.0, self.eta_seconds - (now - self.updated_at).total_seconds())


def live_runs(store_root: Path, now: datetime) -> Sequence[LiveState]:
    """Return the runs in progress, the latest start first; skip killed runs, and files that do not describe a run."""
    runs = _all_in(store_root / LIVE_FOLDER)
    return [run for run in runs if now - run.updated_at <= _FORGOTTEN_AFTER and not run.has_ended()]


def ended_runs(store_root: Path) -> Sequence[LiveState]:
    """Return the runs that crashed, were cancelled or were killed, the latest start first.

    A run that was killed on this machine is listed at once; the next run with this store moves its file to ``ended/``.
    """
    left = [run.model_copy(update=_KILLED) for run in _all_in(store_root / LIVE_FOLDER) if run.has_ended()]
    return sorted([*left, *_all_in(store_root / ENDED_FOLDER)], key=lambda run: run.started_at, reverse=True)


def refuse_if_under_way(store_root: Path, config: Mapping[str, Any]) -> None:
    """Raise ArtifactError if a run with these settings is in progress, even with another results folder."""
    now = datetime.now(UTC)
    for run in live_runs(store_root, now):
        if not run.is_silent(now) and _work(run.config) == _work(config):
            raise ArtifactError(
                f"{run.name or run.run_id}: a run with these settings is in progress since "
                f"{run.started_at:%Y-%m-%d %H:%M} UTC: wait until it ends, or cancel it"
            )


def _work(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings that are equal if two runs do the same work: omit the results folder and dataset commits."""
    dataset = config.get("dataset", {})
    named = {name: str(dataset.get(name, "")).partition("@")[0] for name in ("source", "solve_rates")}
    return {**config, "out": "", "dataset": {**dataset, **named}}


def keep_ended(store_root: Path, state: LiveState) -> None:
    """Write the last state of a run that ended without a record into ``ended/``."""
    file = store_root / ENDED_FOLDER / f"{Path(state.run_id).name}.json"
    write_atomically(file, state.model_dump_json().encode())


def request_cancellation(store_root: Path, run_id: str) -> bool:
    """Ask a run in progress to end within seconds, as after Ctrl-C; return False if the run has no live file."""
    file = store_root / LIVE_FOLDER / f"{Path(run_id).name}.json"
    if not file.is_file():
        return False
    write_atomically(file.with_suffix(CANCEL_SUFFIX), b"")
    return True


def forget_ended(store_root: Path, run_id: str) -> None:
    """Remove the state files of a run that ended without a record."""
    for folder in (ENDED_FOLDER, LIVE_FOLDER):
        (store_root / folder / f"{Path(run_id).name}.json").unlink(missing_ok=True)


def _all_in(folder: Path) -> list[LiveState]:
    files = sorted(folder.glob("*.json"), key=_written_at, reverse=True)[:_MOST_FILES]
    return sorted(filter(None, map(_read, files)), key=lambda run: run.started_at, reverse=True)


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # removed in the meantime
        return 0.0


def _read(path: Path) -> LiveState | None:
    try:
        with path.open("rb") as file:
            return LiveState.model_validate_json(file.read(_MOST_BYTES))
    except (OSError, ValidationError):  # removed in the meantime, or of another program
        return None


def remove_left_over(folder: Path) -> None:
    """Remove live files that are old or of killed runs; keep states of runs killed on this machine in ``ended/``."""
    now = datetime.now(UTC)
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        with suppress(OSError):
            age = now - datetime.fromtimestamp(path.stat().st_mtime, UTC)
            state = _read(path) if path.suffix == ".json" else None
            if killed := state is not None and state.has_ended():
                keep_ended(folder.parent, state.model_copy(update=_KILLED))
            if killed or age > _FORGOTTEN_AFTER:
                path.unlink(missing_ok=True)
