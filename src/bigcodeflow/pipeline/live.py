"""What a run is doing now, in a file of its store that whoever looks from outside may read, such as the explorer.

``{store}/live/{run_id}.json`` is written every other second by the process of the run, and removed at the run's end.
Of a store at a URL it lies in this machine's replica: other machines do not see it. A killed run leaves its file, which
the next run of this machine removes, and retention at last.
"""

import json
import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from bigcodeflow.config import RunConfig
from bigcodeflow.core.progress import NO_STATUS, Progress, StageProgress, Status
from bigcodeflow.pipeline.outputs import model_name, run_title
from bigcodeflow.pipeline.stages import STAGES, Listener
from bigcodeflow.store import ArtifactRef, open_store, write_atomically

LIVE_FOLDER = "live"

_SECONDS_BETWEEN_WRITES = 2.0
#: A file of another machine that nobody has written for so long is of a run that was killed.
_ABANDONED = timedelta(days=1)
#: A process that began later than its file says has the number of one that ended.
_CLOCK_SECONDS = 2.0
_ORDER = tuple(spec.title for spec in STAGES.values())

logger = logging.getLogger(__name__)


@dataclass
class _LiveStage:
    """A stage at work: what it reported, and to whom that goes on."""

    state: StageProgress
    show: Progress
    context: Context
    """Of the thread that began the stage: to show progress in Prefect takes its run."""
    is_fresh: bool = field(default=True)
    """Whether there was a report since the last time that the file was written."""

    def repeat(self) -> None:
        """Show once more what a silent stage reported last: its ETA and its longest items go on."""
        state = self.state
        self.context.run(self.show, state.finished, state.total, state.note, state.status)


class LiveRun:
    """A run under way: its stages at work, shown to its listener and written into its file."""

    def __init__(
        self,
        config: RunConfig,
        run_id: str = "",
        *,
        check: Callable[[], None] = lambda: None,
        folder: Path | None = None,
    ) -> None:
        """Write nothing yet.

        Args:
            config: the run's settings.
            run_id: names the file; empty takes a new one.
            check: called with each report of a stage; what it raises ends the stage.
            folder: of the live files; None takes that of the run's store.
        """
        self._run_id, self._config, self._check = run_id or uuid.uuid4().hex, config, check
        self._started_at = datetime.now(UTC)
        self._file = (folder or open_store(config.store).root / LIVE_FOLDER) / f"{self._run_id}.json"
        self._stages: dict[str, _LiveStage] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._may_write = True
        self._thread = threading.Thread(target=self._work, name="live", daemon=True)

    def start(self) -> None:
        """Write the file, and go on doing so."""
        self._write()
        self._thread.start()

    def end(self) -> None:
        """Remove the file."""
        self._ended.set()
        self._thread.join(_SECONDS_BETWEEN_WRITES)
        with self._lock, suppress(OSError):
            self._may_write = False
            self._file.unlink(missing_ok=True)

    def watched(self, listener: Listener) -> Listener:
        """A listener that is told all that happens, silent stages included, while the file follows."""
        return _Watched(self, listener)

    def begin(self, title: str, show: Progress) -> Progress:
        """Follow a stage; what is returned takes its reports and hands them on."""
        stage = _LiveStage(StageProgress(title), show, copy_context())
        with self._lock:
            self._stages[title] = stage

        def report(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            self._check()
            stage.is_fresh = True
            stage.state.update(finished, total, note, status)
            show(finished, total, note, status)

        return report

    def finish(self, title: str) -> None:
        """Follow the stage no longer."""
        with self._lock:
            self._stages.pop(title, None)

    def kept(self) -> str:
        """What an interruption leaves, and how to go on."""
        states = [stage.state for stage in self._at_work()]
        done = " and ".join(f"{state.title} with {state.finished:,} of {state.total:,}" for state in states)
        during = f" during {done}" if done else ""
        return (
            f"stopped{during}: finished stages, answers and verdicts are kept in {self._config.store}; "
            "run the same again, and it goes on from there"
        )

    def content(self) -> dict[str, Any]:
        """What the file holds."""
        now, config, stages = datetime.now(UTC), self._config, self._at_work()
        first = stages[0].state if stages else StageProgress("")
        status = next((stage.state.status for stage in stages if stage.state.status.longest), NO_STATUS)
        return {
            "run_id": self._run_id,
            "name": run_title(config),
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started_at": self._started_at.isoformat(timespec="seconds"),
            "updated_at": now.isoformat(timespec="seconds"),
            "stage": first.title,
            "done": first.finished,
            "total": first.total,
            "eta_seconds": first.eta_seconds,
            "note": first.note,
            "open": status.open_items,
            "executing": [
                {
                    "task_id": item.task_id,
                    "variant": item.variant or "check",
                    "sample_id": item.sample_index,
                    "since": item.since.isoformat(timespec="milliseconds"),
                    "limit_seconds": item.limit_seconds,
                }
                for item in status.longest
            ],
            "model": model_name(config),
            "split": config.dataset.split,
            "subset": config.dataset.subset,
        }

    def _at_work(self) -> list[_LiveStage]:
        """Stages at work in the order of a run: while a model answers, what came is executed already."""
        with self._lock:
            stages = list(self._stages.values())
        return sorted(stages, key=lambda one: (*_ORDER, one.state.title).index(one.state.title))

    def _work(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_WRITES):
            self._write()
            for stage in self._at_work():
                if not stage.is_fresh:
                    stage.repeat()
                stage.is_fresh = False

    def _write(self) -> None:
        content = json.dumps(self.content()).encode()
        with self._lock:
            if not self._may_write:
                return
            try:
                write_atomically(self._file, content)
            except OSError as error:  # a full disk, say: whoever works there says so too
                self._may_write = False
                logger.warning("%s is not written any more (%s): the run itself goes on", self._file, error)


class _Watched:
    """A listener of stages that a live run follows."""

    def __init__(self, run: LiveRun, listener: Listener) -> None:
        self._run, self._listener = run, listener

    def begin(self, title: str) -> Progress:
        """Tell both."""
        return self._run.begin(title, self._listener.begin(title))

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """Tell both."""
        self._run.finish(title)
        self._listener.end(title, ref, reused=reused)


@contextmanager
def live_run(config: RunConfig, run_id: str = "", *, check: Callable[[], None] = lambda: None) -> Iterator[LiveRun]:
    """A run that can be followed from outside while the block lasts; see `LiveRun`.

    A KeyboardInterrupt leaves the block with a message that says what is kept.
    """
    run = LiveRun(config, run_id, check=check)
    remove_left_over(open_store(config.store).root / LIVE_FOLDER)
    run.start()
    try:
        yield run
    except KeyboardInterrupt:
        raise KeyboardInterrupt(run.kept()) from None
    finally:
        run.end()


def remove_left_over(folder: Path) -> None:
    """Remove the live files of runs that were killed."""
    now = datetime.now(UTC)
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        with suppress(OSError):
            age = now - datetime.fromtimestamp(path.stat().st_mtime, UTC)
            if age > _ABANDONED or (path.suffix == ".json" and _has_ended(path)):
                path.unlink(missing_ok=True)


def _has_ended(path: Path) -> bool:
    """Whether the process that wrote the file was one of this machine and is gone."""
    try:
        content = json.loads(path.read_bytes())
        if content["host"] != socket.gethostname():
            return False
        started_at = datetime.fromisoformat(content["started_at"]).timestamp()
        began_at: float = psutil.Process(content["pid"]).create_time()
    except psutil.NoSuchProcess:
        return True
    except (psutil.Error, OSError, ValueError, TypeError, KeyError):
        return False
    return began_at > started_at + _CLOCK_SECONDS
