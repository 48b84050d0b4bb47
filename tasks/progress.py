"""Progress of a stage in the Prefect UI: one progress artifact and a few log lines; keys and links of all artifacts."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

from bigcodeflow.core.progress import NO_STATUS, Progress, StageProgress, Status
from bigcodeflow.pipeline.progress import terminal_listener
from bigcodeflow.prefect_service.folder import explorer_url
from bigcodeflow.store import ArtifactRef

RunLogger = logging.Logger | logging.LoggerAdapter[logging.Logger]

#: An update takes the API up to 33 ms, and a stage reports each of its thousands of items.
_SECONDS_BETWEEN_UPDATES = 1.0
_LOG_STEPS = 10
#: Longest time between log lines about a running stage, as long as it reports.
_SECONDS_BETWEEN_LINES = 60.0
_BRACKETS = re.compile(r"[\[\]]")
_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")


def artifact_key(*names: str) -> str:
    """Join the names to an artifact key that Prefect accepts: lower-case letters, digits and dashes."""
    return _NOT_IN_KEYS.sub("-", "-".join(names).lower()).strip("-")


def explorer_link(store: str, path: str = "/") -> str:
    """Return the address of a page of the explorer; empty if no explorer shows the store."""
    url = explorer_url(store)
    return f"{url}{path}" if url else ""


def run_path(record: str) -> str:
    """Return the path of a recorded run's page in the explorer."""
    return f"/runs/{quote(record, safe='')}"


def linked(description: str, store: str, path: str = "/") -> str:
    """Return ``description`` as a Markdown link to a page of the explorer; unchanged if no explorer shows the store."""
    # The UI's cards cut off the end of a description, so the whole text is the link.
    link = explorer_link(store, path)
    return f"[{_BRACKETS.sub(' ', description)}]({link})" if link else description


class RunListener:
    """Listener that shows a stage as a progress artifact and in the log of its task run."""

    def __init__(self, seconds_now: Callable[[], float] = time.monotonic, *, store: str = "") -> None:
        self._seconds_now, self._store = seconds_now, store
        self._bar: ProgressBar | None = None
        self._terminal = terminal_listener.get()
        self.reused = False
        """True if the artifact of the last ended stage was already in the store."""

    def begin(self, title: str) -> Progress:
        """Log the start of a stage, and return the callback for its reports."""
        get_run_logger().info("%s: started", title)
        self._bar = bar = ProgressBar(title, get_run_logger(), self._seconds_now, store=self._store)
        if self._terminal is None:
            return bar
        show = self._terminal.begin(title)

        def report(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            bar(finished, total, note, status)
            show(finished, total, note, status)

        return report

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """Log the result of the stage with its counts, and set the bar to 100 %."""
        self.reused = reused
        if self._bar:
            self._bar.update(100.0, f"{title}: finished")
        if self._terminal:
            self._terminal.end(title, ref, reused=reused)
        counts = [f"{ref.rows:,} rows"]
        for name, value in sorted(ref.statistics.items()):
            counts.append(f"{name.replace('_', ' ')} {f'{value:,}' if isinstance(value, int) else value}")
        get_run_logger().info("%s: %s, %s", title, "reused" if reused else "finished", ", ".join(counts))
        for note in open_samples(ref.statistics):
            get_run_logger().warning("%s: %s", title, note)


def open_samples(statistics: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on samples that must be judged or checked again, from the ``statistics`` of a stage's artifact."""
    unchecked = statistics.get("unchecked_passes", 0)
    if unjudged := statistics.get("infra_errors", 0) - unchecked:
        yield f"{unjudged:,} samples could not be judged because of infrastructure; run the same again to judge them"
    if unchecked:
        yield (
            f"{unchecked:,} samples passed, and could not be checked against contradicting tests; run the same again "
            "to check these samples"
        )


class ProgressBar:
    """Progress artifact, updated at most once a second; it also logs a line at each 10 % and each minute.

    Several threads may report; a report is dropped, without waiting, while another report is being sent.
    """

    def __init__(
        self, title: str, logger: RunLogger, seconds_now: Callable[[], float] = time.monotonic, *, store: str = ""
    ) -> None:
        self._state = StageProgress(title, seconds_now)
        self._store, self._logger, self._seconds_now = store, logger, seconds_now
        self._updated_at_seconds = self._logged_at_seconds = seconds_now()
        self._logged_step = 0
        self._sending = threading.Lock()
        key = f"{artifact_key(title)}-progress"
        # str(): by its type, the function may also return a coroutine (for asynchronous callers).
        described = linked(f"Progress of {title}", self._store, "/live")
        self._artifact_id = UUID(str(create_progress_artifact(0.0, key=key, description=described)))

    def __call__(self, finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
        if self._seconds_now() - self._updated_at_seconds < _SECONDS_BETWEEN_UPDATES:
            return
        if not self._sending.acquire(blocking=False):
            return
        try:
            self._show(finished, total, note, status)
        finally:
            self._sending.release()

    def _show(self, finished: int, total: int, note: str, status: Status) -> None:
        self._updated_at_seconds = now = self._seconds_now()
        self._state.update(finished, total, note, status)
        if total:
            self.update(100.0 * finished / total, self._state.line)
        step = finished * _LOG_STEPS // total if total else 0
        if step > self._logged_step or now - self._logged_at_seconds >= _SECONDS_BETWEEN_LINES:
            self._logged_step, self._logged_at_seconds = max(step, self._logged_step), now
            self._logger.info("%s", self._state.line)

    def update(self, percent: float, description: str | None = None) -> None:
        """Set the finished share in percent, and the artifact's description if it is given."""
        try:
            described = linked(description, self._store, "/live") if description else None
            update_progress_artifact(self._artifact_id, progress=percent, description=described)
        except httpx.HTTPError as error:  # a failed update must not end hours of execution
            self._logger.warning("%s: no progress is shown in Prefect (%s)", self._state.title, error)
