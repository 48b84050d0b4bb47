"""Evaluations of sample files that came to the space; their samples run where those of machines do."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow import results
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.pipeline import outputs, stages
from bigcodeflow.store import ArtifactRef, open_store

#: Data sets that may be chosen; a path would open this machine's files to who asks.
DATASETS = ("starter", "bigcode/bigcodebench")
_NAME_LENGTH = 120
_SUMMARY_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What is to be evaluated, and against what."""

    samples: Path
    dataset: str = "starter"
    split: str = "complete"
    subset: str = "full"
    ids: str = ""
    calibrated: bool = True
    k: tuple[int, ...] = (1, 5, 10)
    limits: Mapping[str, Any] = field(default_factory=dict)


class EvaluationResult(NamedTuple):
    """What an evaluation left."""

    summary: str
    verdicts: pa.Table
    files: tuple[Path, ...]
    """*_eval_results.json, *_pass_at_k.json, verdicts.parquet and metrics.parquet."""


class RunProgress:
    """How far an evaluation is; written by its thread, read by the page."""

    def __init__(self) -> None:
        self.stages: dict[str, str] = {}
        """State of each stage so far, by its title."""

    def begin(self, title: str) -> stages.Progress:
        """A stage has work to do."""
        self.stages[title] = "begins"

        def move(finished: int, total: int, note: str = "") -> None:
            self.stages[title] = f"{finished:,} of {total:,}" + (f" ({note})" if note else "")

        return move

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """A stage's artifact is there."""
        self.stages[title] = f"{ref.rows:,} rows" + (", known before" if reused else "")


class Evaluations:
    """Evaluations, one after the other; one that nobody waits for goes on, and is there when it is asked for again."""

    def __init__(self, environment: str, store: str, service: Mapping[str, Any]) -> None:
        """Nothing is started before the first one.

        Args:
            environment: name of the space's environment.
            store: where artifacts are kept.
            service: ``execution.service`` of the space itself, so that all share its cores.
        """
        self._environment, self._store, self._service = environment, store, dict(service)
        self._pool = ThreadPoolExecutor(1, "evaluate")

    @contextmanager
    def begun(self, request: EvaluationRequest, progress: RunProgress) -> Iterator["Future[EvaluationResult]"]:
        """An evaluation that begins as soon as the one before it has ended; its files last as long as the block.

        Raises:
            ConfigError: it cannot be made from these choices.
        """
        folder = Path(tempfile.mkdtemp(prefix="bigcodeflow-space-"))
        running: Future[EvaluationResult] | None = None
        try:
            running = self._pool.submit(_evaluate, self._config(request, folder), progress)
            yield running
        finally:
            if running is None:
                shutil.rmtree(folder)
            else:  # one that goes on without anybody still writes there
                running.add_done_callback(lambda _: shutil.rmtree(folder, ignore_errors=True))

    def _config(self, request: EvaluationRequest, folder: Path) -> RunConfig:
        if request.dataset not in DATASETS:
            raise ConfigError(f"dataset {request.dataset!r} is none of {', '.join(DATASETS)}")
        stem = request.samples.name.partition(".jsonl")[0]
        dataset = {"source": request.dataset, "split": request.split, "subset": request.subset, "ids": request.ids}
        given: dict[str, Any] = {
            "name": re.sub(r"[^\w.\-+]", "-", stem)[:_NAME_LENGTH] or "space",
            "store": self._store,
            "out": str(folder),
            "dataset": dataset,
            "samples": {"source": str(request.samples)},
            "sanitizing": {"mode": "none"},
            "execution": {
                "backend": "gradio",
                "service": self._service,
                "environment": self._environment,
                "variants": ["calibrated" if request.calibrated else "raw"],
                "limits": dict(request.limits),
            },
            "aggregation": {"k": list(request.k)},
        }
        return load_settings(given, "space")


def _evaluate(config: RunConfig, progress: RunProgress) -> EvaluationResult:
    from rich.console import Console

    started_at = datetime.now(UTC)
    artifacts = stages.perform_all(config, progress)
    store = open_store(config.store)
    written = outputs.write_outputs(config, artifacts, store, started_at=started_at, evaluated_at=datetime.now(UTC))
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    console = Console(file=StringIO(), width=_SUMMARY_COLUMNS, no_color=True)
    with console.capture() as summary:
        console.print(results.render_summary(store.read(artifacts.aggregation), failures=failures, title=config.name))
    return EvaluationResult(summary.get(), store.read(artifacts.execution), written.files)
