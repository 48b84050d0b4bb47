"""Publish the current state of a run in a file of its store, for readers outside the process, such as the explorer.

The run's process writes ``{store}/live/{run_id}.json`` every two seconds and removes it at the run's end; the last
state of a run that fails stays in ``ended/``. For a store at a URL the files are in this machine's replica: other
machines do not see them. A killed run leaves its file, which the next run on this machine moves to ``ended/``.
"""

import logging
import os
import signal
import socket
import threading
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Self

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import SamplesError, error_message
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.progress import NO_STATUS, Progress, StageProgress, Status
from bigcodeflow.pipeline.live_files import (
    CANCEL_SUFFIX,
    LIVE_FOLDER,
    ExecutingSample,
    LiveState,
    forget_ended,
    keep_ended,
    remove_left_over,
)
from bigcodeflow.pipeline.outputs import model_name, run_title
from bigcodeflow.pipeline.stages import STAGES, Listener
from bigcodeflow.store import ArtifactRef, Store

_SECONDS_BETWEEN_WRITES = 2.0
_LONGEST_ERROR, _LONGEST_LINE, _MOST_LINES = 4_000, 400, 12
_ORDER = tuple(spec.title for spec in STAGES.values())

logger = logging.getLogger(__name__)


@dataclass
class _LiveStage:
    """Stage in progress: its latest report, and the callback that receives its reports."""

    state: StageProgress
    show: Progress
    context: Context
    """Context of the thread that began the stage; Prefect reads the current run from this context."""
    is_fresh: bool = True
    """True if the stage has reported since the live file was last written."""

    def repeat(self) -> None:
        """Show the latest report of a silent stage again, because its ETA and the times of long items change."""
        state = self.state
        self.context.run(self.show, state.finished, state.total, state.note, state.status)


class LiveRun:
    """Context manager for a run in progress: it writes the state of the run's stages to the run's live file.

    A KeyboardInterrupt that leaves the context gets a message about the kept results.
    """

    def __init__(
        self, config: RunConfig, store: Store, run_id: str = "", *, check: Callable[[], None] = lambda: None
    ) -> None:
        """Prepare the run; nothing is written yet. ``run_id`` names the live file; if empty, it is random.

        ``check`` is called at each report of a stage; an exception from ``check`` ends the stage.
        """
        self._run_id, self._config, self._check = run_id or uuid.uuid4().hex, config, check
        self._started_at = datetime.now(UTC)
        self._root, self._settings = store.root, config.model_dump(mode="json")
        self._file = store.root / LIVE_FOLDER / f"{self._run_id}.json"
        self._stages: dict[str, _LiveStage] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._log = _LastLines()
        self._may_write = True
        self._thread = threading.Thread(target=self._work, name="live", daemon=True)

    def __enter__(self) -> Self:
        """Write the live file, and start the thread that updates it."""
        remove_left_over(self._file.parent)
        with suppress(OSError):
            forget_ended(self._root, self._run_id)  # state of an earlier attempt of the same flow run
        self._write()
        self._thread.start()
        logging.getLogger("bigcodeflow").addHandler(self._log)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        """Remove the live file; keep the last state of a run that failed or was cancelled.

        No state is kept if the recorded samples were refused, because such a run has executed nothing.
        """
        self._ended.set()
        self._thread.join(_SECONDS_BETWEEN_WRITES)
        logging.getLogger("bigcodeflow").removeHandler(self._log)
        refused = isinstance(error, SamplesError) and self._config.samples.source != "model"
        if error is not None and not refused:
            self._keep(error)
        self._remove()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(self._kept()) from None

    def _keep(self, error: BaseException) -> None:
        # Neither KeyboardInterrupt nor the error with which Prefect cancels a flow is a subclass of Exception.
        is_crash = isinstance(error, Exception)
        end = {"outcome": "crashed" if is_crash else "cancelled"}
        end["error"] = error_message(error)[:_LONGEST_ERROR] if is_crash else ""
        with suppress(OSError):
            keep_ended(self._root, self.content().model_copy(update=end))

    def _remove(self) -> None:
        with self._lock, suppress(OSError):
            self._may_write = False
            self._file.unlink(missing_ok=True)
            self._file.with_suffix(CANCEL_SUFFIX).unlink(missing_ok=True)

    def watched(self, listener: Listener) -> Listener:
        """Return a listener that passes reports on to ``listener`` and also records them for the live file.

        While a stage reports nothing, ``listener`` gets the last report again every two seconds.
        """
        return _Watched(self, listener)

    def begin(self, title: str, show: Progress) -> Progress:
        """Add a stage to the live file; return a callback that records its reports and passes them to ``show``."""
        stage = _LiveStage(StageProgress(title), show, copy_context())
        with self._lock:
            self._stages[title] = stage
        self._log.add(f"{title} begins")

        def report(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            self._check()
            stage.is_fresh = True
            stage.state.update(finished, total, note, status)
            show(finished, total, note, status)

        return report

    def finish(self, title: str) -> None:
        """Remove a finished stage from the live file."""
        with self._lock:
            self._stages.pop(title, None)
        self._log.add(f"{title} has ended")

    def _kept(self) -> str:
        states = [stage.state for stage in self._at_work()]
        parts = (f" with {state.finished:,} of {state.total:,}" if state.total else "" for state in states)
        done = " and ".join(f"{state.title}{part}" for state, part in zip(states, parts, strict=True))
        during = f" during {done}" if done else ""
        return (
            f"stopped{during}: finished stages, answers and verdicts are kept in {self._config.store}; "
            "run the same again to continue from these"
        )

    def content(self) -> LiveState:
        """Return the current state of the run, which is the content of the live file."""
        config, stages = self._config, self._at_work()
        states = [stage.state for stage in stages] or [StageProgress("")]
        first = next((state for state in states if state.finished), states[0])  # another stage may wait for this stage
        outcomes = next((stage.state.status.outcomes for stage in stages if stage.state.status.outcomes), {})
        status = next((stage.state.status for stage in stages if stage.state.status.longest), NO_STATUS)
        return LiveState(
            run_id=self._run_id,
            name=run_title(config),
            pid=os.getpid(),
            host=socket.gethostname(),
            started_at=self._started_at,
            updated_at=datetime.now(UTC),
            stage=first.title,
            done=first.finished,
            total=first.total,
            eta_seconds=max((eta for one in stages if (eta := one.state.eta_seconds) is not None), default=None),
            note=first.note,
            outcomes=dict(outcomes),
            log=tuple(self._log.lines),
            open=status.open_items,
            executing=tuple(
                ExecutingSample(**item._asdict() | {"variant": item.variant or "check", "sample_id": item.sample_index})
                for item in status.longest
            ),
            model=model_name(config),
            split=config.dataset.split,
            subset=config.dataset.subset,
            config=self._settings,
        )

    def _at_work(self) -> list[_LiveStage]:
        """Return the stages in progress, in the order of the pipeline; several stages may overlap."""
        with self._lock:
            stages = [*self._stages.values()]
        return sorted(stages, key=lambda one: (*_ORDER, one.state.title).index(one.state.title))

    def _work(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_WRITES):
            self._write()
            if self._file.with_suffix(CANCEL_SUFFIX).exists():
                self._file.with_suffix(CANCEL_SUFFIX).unlink(missing_ok=True)
                self._log.add("cancelled from the explorer")
                self._cancel()
            for stage in self._at_work():
                if not stage.is_fresh:
                    stage.repeat()
                stage.is_fresh = False

    def _cancel(self) -> None:
        """End the run as Ctrl-C does; a process that ignores SIGINT, such as a background job, ends without cleanup."""
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            os.kill(os.getpid(), signal.SIGINT)
            return
        self._keep(KeyboardInterrupt())
        self._remove()
        os.kill(os.getpid(), signal.SIGTERM)

    def _write(self) -> None:
        content = self.content().model_dump_json().encode()
        with self._lock:
            if not self._may_write:
                return
            try:
                write_atomically(self._file, content)
            except OSError as error:  # such as a full disk, which the run's other writers report too
                self._may_write = False
                logger.warning("live file %s cannot be written (%s): the explorer shows no progress", self._file, error)


class _LastLines(logging.Handler):
    """Log handler that keeps the last lines of the log, with their times in UTC."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[str] = deque(maxlen=_MOST_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        self.add(" ".join(record.getMessage().split())[:_LONGEST_LINE])
        last = logging.lastResort  # Python uses it only if a logger has no handler at all
        if last and record.levelno >= last.level and not logging.getLogger().handlers:
            last.handle(record)

    def add(self, line: str) -> None:
        self.lines.append(f"{datetime.now(UTC):%H:%M:%S} {line}")


class _Watched(NamedTuple):
    """Listener that passes reports to a live run and to another listener."""

    run: LiveRun
    listener: Listener

    def begin(self, title: str) -> Progress:
        return self.run.begin(title, self.listener.begin(title))

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        self.run.finish(title)
        self.listener.end(title, ref, reused=reused)
