"""The public API: ``import bigcodeflow as bcf``.

Each function runs the stages up to its own, in this process and without Prefect, and returns that stage's table as a
polars frame. A stage whose artifact is in the store already is not computed again, so that calling one after the
other costs no more than the last alone. Errors that a user can mend are :class:`BigCodeFlowError` and name what, where
and what to do.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from bigcodeflow.config import RunConfig, SamplesConfig, load_config
from bigcodeflow.core.errors import BigCodeFlowError, SamplesError
from bigcodeflow.pipeline import outputs, stages
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow.store import open_store

__all__ = [
    "BigCodeFlowError",
    "RunConfig",
    "RunResults",
    "aggregate",
    "evaluate",
    "generate",
    "load_config",
    "load_tasks",
    "read_results",
    "run",
    "sanitize",
]

#: A polars frame, or rows with the keys of the original's sample files: task_id, and solution, completion or
#: raw_solution.
Samples = pl.DataFrame | Iterable[Mapping[str, Any]]


def load_tasks(config: RunConfig, *, progress: bool = True) -> pl.DataFrame:
    """The tasks that the run judges.

    Args:
        config: the run; only its dataset section and its store count.
        progress: show each stage on standard error.

    Returns:
        One row a task, with the columns of ``bigcodeflow.core.schemas.TASKS``.

    Raises:
        DatasetError: the dataset is absent, unreachable or not permitted.
    """
    # Which samples there are does not concern the tasks.
    config = config.model_copy(update={"samples": SamplesConfig(source="oracle")})
    return _table_of("dataset", config, None, progress=progress)


def generate(config: RunConfig, *, progress: bool = True) -> pl.DataFrame:
    """The samples: a model's answers, or those that ``samples.source`` names.

    A model's answers are kept one by one, so that a call that is interrupted goes on where it stopped.

    Args:
        config: the run.
        progress: show each stage on standard error.

    Returns:
        One row a task and ``sample_index``, with the columns of ``bigcodeflow.core.schemas.SAMPLES``. An answer that
        could not be had has its ``error``.

    Raises:
        ConfigError: the sampling parameters are a grid; ``bigcodeflow generate`` runs those.
        SamplesError: the sample file is absent or has defects.
        GenerationError: the model cannot be asked.
    """
    return _table_of("generation", config, None, progress=progress)


def sanitize(config: RunConfig, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """The program in each answer.

    Args:
        config: the run.
        samples: samples to use in place of those of ``samples.source``.
        progress: show each stage on standard error.

    Returns:
        One row a sample, with the columns of ``bigcodeflow.core.schemas.SOLUTIONS``.

    Raises:
        SamplesError: the samples have defects; all are named.
    """
    return _table_of("sanitizing", config, samples, progress=progress)


def evaluate(config: RunConfig, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """The verdicts: every sample executed in a sandbox, on a Dask cluster.

    Verdicts are kept one by one, so that a call that is interrupted goes on where it stopped.

    Args:
        config: the run.
        samples: samples to use in place of those of ``samples.source``.
        progress: show each stage on standard error.

    Returns:
        One row a sample and variant, with the columns of ``bigcodeflow.core.schemas.VERDICTS``; ``status`` is pass,
        fail, timeout, out_of_memory, syntax_error, crash, tampered or infra_error, durations are in seconds.

    Raises:
        SamplesError: the samples have defects; all are named.
        EnvironmentUnusableError: the sandbox environment is not built.
        SandboxUnavailableError: no sandbox can be started here.
        ExecutionError: the cluster could not be reached or started.
    """
    return _table_of("execution", config, samples, progress=progress)


def aggregate(config: RunConfig, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """The scores: pass@k with intervals, for all tasks and by slice.

    Args:
        config: the run.
        samples: samples to use in place of those of ``samples.source``.
        progress: show each stage on standard error.

    Returns:
        One row a metric and slice, with the columns of ``bigcodeflow.core.schemas.METRICS``; rates are fractions of
        1, ``ci_low`` and ``ci_high`` bound the 95 % interval.

    Raises:
        BigCodeFlowError: see :func:`evaluate`.
    """
    return _table_of("aggregation", config, samples, progress=progress)


def run(config: RunConfig, *, progress: bool = True) -> "RunResults":
    """Run every stage, write the result files and record the run in the store, as ``bigcodeflow run`` does.

    Args:
        config: the run; ``out`` names the folder of its result files, or a new one below results/runs where it is
            empty.
        progress: show each stage on standard error.

    Raises:
        ConfigError: ``out`` holds the results of another run.
        BigCodeFlowError: see :func:`evaluate`.
    """
    started_at = datetime.now(UTC)
    config = outputs.in_own_folder(config, started_at)
    with progress_listener(quiet=not progress) as listener:
        artifacts = stages.perform_all(config, listener)
    store = open_store(config.store)
    moments = {"started_at": started_at, "evaluated_at": datetime.now().astimezone()}
    written = outputs.write_outputs(config, artifacts, store, **moments)
    return RunResults(find_run(config.store, written.record))


def read_results(name: str = "latest", store: str | Path = "results/store") -> "RunResults":
    """The results of a recorded run.

    Args:
        name: name of a record, a run, a title such as 'gpt-4o · hard · instruct' or a model; 'latest' takes the
            latest run of all.
        store: folder or URL of the store.

    Raises:
        ArtifactError: no run, or several different ones, have that name.
    """
    return RunResults(find_run(store, name))


@dataclass(frozen=True)
class RunResults:
    """One recorded run; its tables are read when they are first asked for.

    Each table raises ArtifactError where the run did not make it or retention removed it.
    """

    recorded: RecordedRun
    """The record in the store, with names, model, times, configuration and artifact keys."""

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """One row a task, as :func:`load_tasks` returns it."""
        return pl.read_parquet(self.recorded.path("dataset"))

    @cached_property
    def samples(self) -> pl.DataFrame:
        """One row a sample, as :func:`generate` returns it."""
        return pl.read_parquet(self.recorded.path("generation"))

    @cached_property
    def solutions(self) -> pl.DataFrame:
        """One row a sample, as :func:`sanitize` returns it."""
        return pl.read_parquet(self.recorded.path("sanitizing"))

    @cached_property
    def ground_truths(self) -> pl.DataFrame:
        """Verdicts of the canonical solutions, one row a task, in the columns of ``verdicts``."""
        return pl.read_parquet(self.recorded.path("ground_truth"))

    @cached_property
    def verdicts(self) -> pl.DataFrame:
        """One row a sample and variant, as :func:`evaluate` returns it."""
        return pl.read_parquet(self.recorded.path("execution"))

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row a metric and slice, as :func:`aggregate` returns it."""
        return pl.read_parquet(self.recorded.path("aggregation"))


def _table_of(stage: str, config: RunConfig, samples: Samples | None, *, progress: bool) -> pl.DataFrame:
    """The table of a stage; it and what it is made from are computed where they are not in the store."""
    judged = stage in ("execution", "aggregation")
    with _with_samples(config, samples) as chosen, progress_listener(quiet=not progress) as listener:
        store, resolver = open_store(chosen.store), Resolver()
        resolved = resolver(chosen) if judged else resolver.up_to_sanitizing(chosen)
        refs = stages.each_stage(
            lambda name, refs: stages.perform(stages.stage_of(name, resolved, refs), store, listener), target=stage
        )
        return pl.read_parquet(store.path(refs[stage]))


@contextmanager
def _with_samples(config: RunConfig, samples: Samples | None) -> Iterator[RunConfig]:
    """The run on samples of the caller, which are read from a file as any others are, and checked as those are."""
    if samples is None:
        yield config
        return
    rows = samples.iter_rows(named=True) if isinstance(samples, pl.DataFrame) else samples
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jsonl"
        path.write_text("".join(_line(number, row) for number, row in enumerate(rows, start=1)))
        yield config.model_copy(update={"samples": SamplesConfig(source=str(path))})


def _line(number: int, row: Any) -> str:
    if not isinstance(row, Mapping):
        raise SamplesError(
            f"samples, row {number}: is a {type(row).__name__}: give a polars frame or rows such as "
            "{'task_id': 'BigCodeBench/0', 'solution': '...'}; a file's path belongs to the setting samples.source"
        )
    try:
        return json.dumps({name: value for name, value in row.items() if value is not None}) + "\n"
    except (TypeError, ValueError) as error:
        raise SamplesError(
            f"samples, row {number}: holds what JSON does not ({error}): give texts and numbers"
        ) from None
