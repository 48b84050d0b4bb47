"""The public API: ``import bigcodeflow as bcf``.

Each function runs the stages up to its own, in this process and without Prefect, and returns that stage's table as a
polars frame, with the columns that ``bigcodeflow.core.schemas`` describes. Results in the store are not computed again,
and an interrupted call continues where it stopped, since answers and verdicts are stored one by one. ``samples``
replace those of ``samples.source``; ``progress`` shows each stage on standard error. Errors that a user can correct are
:class:`BigCodeFlowError`; they say what is wrong, where, and what to do.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from bigcodeflow.config import RunConfig, SamplesConfig, load_config
from bigcodeflow.core.errors import BigCodeFlowError, SamplesError
from bigcodeflow.core.parquet import read_frame
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.recording import perform_and_record
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow.store import open_store

__all__ = ["BigCodeFlowError", "RunConfig", "RunResults"]
__all__ += ["aggregate", "evaluate", "generate", "load_config", "load_tasks", "read_results", "run", "sanitize"]

#: A polars frame, or rows with the keys of the original's sample files: task_id, and solution, completion or
#: raw_solution.
Samples = pl.DataFrame | Iterable[Mapping[str, Any]]


def load_tasks(config: RunConfig, *, progress: bool = True) -> pl.DataFrame:
    """Return the tasks that the run judges, one row per task; only the dataset section and the store are used.

    Raises:
        DatasetError: the dataset is absent, unreachable or not permitted.
    """
    # The tasks do not depend on the samples.
    config = config.model_copy(update={"samples": SamplesConfig(source="oracle")})
    return _table_of("dataset", config, None, progress=progress)


def generate(config: RunConfig, *, progress: bool = True) -> pl.DataFrame:
    """Return the samples, one row per task and ``sample_index``: a model's answers, or those of ``samples.source``.

    If a model gave no answer to a sample, the column ``error`` has the reason.

    Raises:
        ConfigError: the sampling parameters are a grid; ``bigcodeflow generate`` runs those.
        SamplesError: the sample file is absent or has defects.
        GenerationError: the model cannot be asked.
    """
    return _table_of("generation", config, None, progress=progress)


def sanitize(config: RunConfig, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """Extract the program from each answer, one row per sample.

    Raises:
        SamplesError: the samples have defects; all are named.
    """
    return _table_of("sanitizing", config, samples, progress=progress)


def evaluate(config: RunConfig, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """Execute every sample in a sandbox, on a Dask cluster; return the verdicts, one row per sample and variant.

    ``status`` is pass, fail, timeout, out_of_memory, syntax_error, crash, tampered or infra_error; durations are in
    seconds.

    Raises:
        SamplesError: the samples have defects; all are named.
        EnvironmentUnusableError: the sandbox environment is not built.
        SandboxUnavailableError: no sandbox can be started here.
        ExecutionError: the cluster could not be reached or started.
    """
    return _table_of("execution", config, samples, progress=progress)


def aggregate(config: RunConfig, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """Return the scores, one row per metric and slice: pass@k with intervals, for all tasks and by slice.

    Rates are fractions of 1; ``ci_low`` and ``ci_high`` bound the 95 % interval. Raises the errors of :func:`evaluate`.
    """
    return _table_of("aggregation", config, samples, progress=progress)


def run(config: RunConfig, *, progress: bool = True) -> "RunResults":
    """Run every stage, write result files and report, and record the run in the store, as ``bigcodeflow run`` does.

    ``config.out`` names the folder of the result files; if it is empty, a new folder below results/runs is made.

    Raises:
        ConfigError: ``out`` holds the results of another run.
        BigCodeFlowError: see :func:`evaluate`.
    """
    with progress_listener(quiet=not progress) as listener:
        finished = perform_and_record(config, listener)
    return RunResults(find_run(config.store, finished.outputs.record))


def read_results(name: str = "latest", store: str | Path = "results/store") -> "RunResults":
    """Return the results of a recorded run; 'latest' takes the latest run of all.

    ``name`` is the run's record, name or model, or a title such as 'gpt-4o · hard · instruct'.

    Raises:
        ArtifactError: no run, or several different ones, have that name.
    """
    return RunResults(find_run(store, name))


def _table(artifact: str) -> cached_property[pl.DataFrame]:
    return cached_property(lambda results: read_frame(results.recorded.path(artifact)))


@dataclass(frozen=True)
class RunResults:
    """One recorded run; each table is read at its first use.

    A table raises ArtifactError if the run did not make it or retention removed it.
    """

    recorded: RecordedRun
    """Record in the store, with names, model, times, configuration and artifact keys."""
    tasks = _table("dataset")
    """Tasks, as :func:`load_tasks` returns them."""
    samples = _table("generation")
    """Samples, as :func:`generate` returns them."""
    solutions = _table("sanitizing")
    """Programs, as :func:`sanitize` returns them."""
    ground_truths = _table("ground_truth")
    """Verdicts of the canonical solutions, one row per task, in the columns of ``verdicts``."""
    verdicts = _table("execution")
    """Verdicts, as :func:`evaluate` returns them."""
    metrics = _table("aggregation")
    """Scores, as :func:`aggregate` returns them."""


def _table_of(stage: str, config: RunConfig, samples: Samples | None, *, progress: bool) -> pl.DataFrame:
    with _with_samples(config, samples) as chosen, progress_listener(quiet=not progress) as listener:
        refs = perform_up_to(stage, chosen, listener)
        frame: pl.DataFrame = read_frame(open_store(chosen.store).path(refs[stage]))
        return frame


@contextmanager
def _with_samples(config: RunConfig, samples: Samples | None) -> Iterator[RunConfig]:
    """Yield a configuration with the caller's samples, written to a temporary file, so that the usual checks apply."""
    if samples is None:
        yield config
        return
    rows = samples.iter_rows(named=True) if isinstance(samples, pl.DataFrame) else samples
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jsonl"
        path.write_text("".join(_line(number, row) for number, row in enumerate(rows, start=1)), encoding="utf-8")
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
