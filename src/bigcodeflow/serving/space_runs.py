"""A sample file that came to the space, evaluated through all stages; its samples run where those of machines do."""

import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from bigcodeflow import results
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.pipeline import outputs, stages
from bigcodeflow.store import ArtifactRef, open_store

if TYPE_CHECKING:
    from bigcodeflow.serving.space import SpaceSettings

#: Data sets that may be chosen; a path would open this machine's files to who asks.
DATASETS = ("starter", "bigcode/bigcodebench")
_NAME_LENGTH = 120
_SUMMARY_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be evaluated, and against what."""

    samples: Path
    dataset: str = "starter"
    split: str = "complete"
    subset: str = "full"
    ids: str = ""
    calibrated: bool = True
    k: tuple[int, ...] = (1, 5, 10)
    limits: Mapping[str, Any] = field(default_factory=dict)


class Evaluated(NamedTuple):
    """What an evaluation left."""

    summary: str
    verdicts: pa.Table
    files: tuple[Path, ...]
    """*_eval_results.json, *_pass_at_k.json, verdicts.parquet and metrics.parquet."""


class Told:
    """How far a run is, for who looks now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stages: dict[str, str] = {}

    def begin(self, title: str) -> stages.Progress:
        """A stage has work to do."""
        self._note(title, "begins")

        def move(finished: int, total: int, note: str = "") -> None:
            self._note(title, f"{finished:,} of {total:,}" + (f" ({note})" if note else ""))

        return move

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """A stage's artifact is there."""
        self._note(title, f"{ref.rows:,} rows" + (", known before" if reused else ""))

    def stages(self) -> list[tuple[str, str]]:
        """Each stage so far, and what is to be said of it."""
        with self._lock:
            return list(self._stages.items())

    def _note(self, title: str, text: str) -> None:
        with self._lock:
            self._stages[title] = text


class Runs:
    """Evaluations, one after the other; one that nobody waits for goes on, and is there when it is asked for again."""

    def __init__(self, environment: str, settings: "SpaceSettings", slots: int) -> None:
        """Nothing is started before the first one."""
        self._environment, self._settings, self._slots = environment, settings, slots
        self._pool = ThreadPoolExecutor(1, "evaluate")

    @contextmanager
    def begun(self, wish: Wish, told: Told) -> Iterator["Future[Evaluated]"]:
        """An evaluation that begins as soon as the one before it has ended; its files last as long as the block.

        Raises:
            ConfigError: it cannot be made from these choices.
        """
        folder = Path(tempfile.mkdtemp(prefix="bigcodeflow-space-"))
        running: Future[Evaluated] | None = None
        try:
            running = self._pool.submit(_evaluated, self._config(wish, folder), told)
            yield running
        finally:
            if running is None:
                shutil.rmtree(folder)
            else:  # one that goes on without anybody still writes there
                running.add_done_callback(lambda _: shutil.rmtree(folder, ignore_errors=True))

    def _config(self, wish: Wish, folder: Path) -> RunConfig:
        if wish.dataset not in DATASETS:
            raise ConfigError(f"dataset {wish.dataset!r} is none of {', '.join(DATASETS)}")
        stem = wish.samples.name.partition(".jsonl")[0]
        given: dict[str, Any] = {
            "name": re.sub(r"[^\w.\-+]", "-", stem)[:_NAME_LENGTH] or "space",
            "store": self._settings.store,
            "out": str(folder),
            "dataset": {"source": wish.dataset, "split": wish.split, "subset": wish.subset, "ids": wish.ids},
            "samples": {"source": str(wish.samples)},
            "sanitizing": {"mode": "none"},
            "execution": {
                # Through the space's own door, so that all share its cores.
                "backend": "gradio",
                "service": {
                    "url": self._settings.url,
                    "key_variable": self._settings.key_variable,
                    "concurrency": self._slots,
                },
                "environment": self._environment,
                "variants": ["calibrated" if wish.calibrated else "raw"],
                "limits": dict(wish.limits),
            },
            "aggregation": {"k": list(wish.k)},
        }
        return load_settings(given, "space")


def _evaluated(config: RunConfig, told: Told) -> Evaluated:
    from rich.console import Console

    started_at = datetime.now(UTC)
    artifacts = stages.perform_all(config, told)
    store = open_store(config.store)
    written = outputs.write_outputs(config, artifacts, store, started_at=started_at, evaluated_at=datetime.now(UTC))
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    console = Console(file=StringIO(), width=_SUMMARY_COLUMNS, no_color=True)
    with console.capture() as summary:
        console.print(results.render_summary(store.read(artifacts.aggregation), failures=failures, title=config.name))
    return Evaluated(summary.get(), store.read(artifacts.execution), written.files)
