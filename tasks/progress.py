"""A stage's way, as people follow it in the Prefect UI: one progress artifact and a few log lines."""

import logging
import re
import time
from collections.abc import Callable
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

from bigcodeflow.store import ArtifactRef
from tasks.explorer_links import linked

RunLogger = logging.Logger | logging.LoggerAdapter[logging.Logger]

#: An update costs the API up to 33 ms; a stage reports each of its thousands of items.
_SECONDS_BETWEEN_UPDATES = 1.0
_LOG_STEPS = 10
_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")


def artifact_key(*names: str) -> str:
    """A key as Prefect takes it: small letters, digits and dashes."""
    return _NOT_IN_KEYS.sub("-", "-".join(names).lower()).strip("-")


class RunListener:
    """Shows one stage as a progress artifact and in the log of the task run that it belongs to."""

    def __init__(self, seconds_now: Callable[[], float] = time.monotonic, *, store: str = "") -> None:
        self._seconds_now = seconds_now
        self._store = store
        self._bar: ProgressBar | None = None
        self.reused = False
        """Whether the stage that ended last was in the store already."""

    def begin(self, title: str) -> "ProgressBar":
        """Announce the work, and return what its progress is reported to."""
        get_run_logger().info("%s: started", title)
        self._bar = ProgressBar(title, get_run_logger(), self._seconds_now, store=self._store)
        return self._bar

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """Say what came of the stage, counts included."""
        self.reused = reused
        if self._bar:
            self._bar.update(100.0)
        counts = [f"{ref.rows:,} rows"]
        for name, value in sorted(ref.statistics.items()):
            counts.append(f"{name.replace('_', ' ')} {f'{value:,}' if isinstance(value, int) else value}")
        get_run_logger().info("%s: %s, %s", title, "reused" if reused else "finished", ", ".join(counts))
        if ref.statistics.get("infra_errors"):
            get_run_logger().warning(
                "%s: %s samples could not be judged for reasons outside them; run again to judge these alone",
                title,
                ref.statistics["infra_errors"],
            )


class ProgressBar:
    """A progress artifact that is updated at most once a second, with a log line at each further tenth."""

    def __init__(
        self, title: str, logger: RunLogger, seconds_now: Callable[[], float] = time.monotonic, *, store: str = ""
    ) -> None:
        self._title = title
        self._logger = logger
        self._seconds_now = seconds_now
        self._updated_at_seconds = seconds_now()
        self._logged_step = 0
        key = f"{artifact_key(title)}-progress"
        # An id, since the function is also asynchronous for callers that are.
        described = linked(f"Progress of {title}", store, "/live")
        self._artifact_id = UUID(str(create_progress_artifact(0.0, key=key, description=described)))

    def __call__(self, finished: int, total: int, note: str = "") -> None:
        """Take note that so many units of all are finished, and how it goes."""
        if not total or self._seconds_now() - self._updated_at_seconds < _SECONDS_BETWEEN_UPDATES:
            return
        self._updated_at_seconds = self._seconds_now()
        self.update(100.0 * finished / total)
        step = finished * _LOG_STEPS // total
        if step > self._logged_step:
            self._logged_step = step
            remark = f" ({note})" if note else ""
            self._logger.info("%s: %s of %s%s", self._title, f"{finished:,}", f"{total:,}", remark)

    def update(self, percent: float) -> None:
        """Show so much of the work as finished."""
        try:
            update_progress_artifact(self._artifact_id, progress=percent)
        except httpx.HTTPError as error:  # hours of execution must not be lost to a bar that cannot be drawn
            self._logger.warning("%s: progress could not be shown (%s)", self._title, error)
