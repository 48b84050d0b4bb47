"""The public API: ``import bigcodeflow as bcf``.

Each function runs the stages up to its own, in this process and without Prefect, and returns that stage's table as a
polars frame, with the columns that ``bigcodeflow.core.schemas`` describes. ``config`` is what `load_config` returns, or
the name or path of a preset. Results in the store are not computed again,
and an interrupted call continues where it stopped, since answers and verdicts are stored one by one. The argument
``samples`` replaces the setting ``samples.source``; ``progress`` shows each stage on standard error. Errors that a user
can correct are :class:`BigCodeFlowError`; they say what is wrong, where, and what to do.
"""

import html
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from bigcodeflow import config as settings
from bigcodeflow.config import RunConfig, SamplesConfig
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, SamplesError
from bigcodeflow.core.parquet import read_frame
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.recording import perform_and_record
from bigcodeflow.results.formatting import interval, overall, percent
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow.store import open_store

__all__ = ["BigCodeFlowError", "RunConfig", "RunResults"]
__all__ += ["aggregate", "evaluate", "generate", "load_config", "load_tasks", "read_results", "run", "sanitize"]

#: A polars frame, or rows with the keys of the original's sample files: task_id, and solution, completion or
#: raw_solution; or the path of such a file.
Samples = pl.DataFrame | Iterable[Mapping[str, Any]] | str | Path
#: What `load_config` returns, or the name or path of a preset.
Config = RunConfig | str | Path
_ROWS = "give a file's path, a polars frame, or rows such as {'task_id': 'BigCodeBench/0', 'solution': '...'}"


def load_config(
    preset: str | Path | None = None, overrides: str | Iterable[str] = (), options: Mapping[str, Any] | None = None
) -> RunConfig:
    """Read a preset (path of a YAML file, or name of a shipped preset); apply ``options``, then ``overrides``.

    Raises:
        ConfigError: a setting is wrong; the message has a line for each problem, with place, value and remedy.
    """
    _require(preset, str | Path | None, "preset", "give the name or path of a preset")
    _require(options, Mapping | None, "options", "give settings by path, such as {'dataset.ids': '0-4'}")
    remedy = "give texts such as 'dataset.ids=0-4'"
    if isinstance(overrides, Mapping):
        raise ConfigError(f"overrides: must not be a dict: {remedy}, or pass options={overrides!r}")
    _require(overrides, Iterable, "overrides", remedy)
    lines = (overrides,) if isinstance(overrides, str) else tuple(overrides)
    for text in (*lines, *(options or ())):
        _require(text, str, "overrides, options", remedy)
    try:
        return settings.load_config(preset, lines, options or {}, origin="options")
    except ConfigError as error:
        raise ConfigError(str(error).replace("--set ", "overrides: ")) from None


def load_tasks(config: Config, *, progress: bool = True) -> pl.DataFrame:
    """Return the tasks that the run judges, one row per task; only the settings ``dataset`` and ``store`` matter.

    Raises:
        DatasetError: the dataset is absent, unreachable or not permitted.
    """
    # The tasks do not depend on the samples.
    config = _settings(config).model_copy(update={"samples": SamplesConfig(source="oracle")})
    return _table_of("dataset", config, None, progress=progress)


def generate(config: Config, *, progress: bool = True) -> pl.DataFrame:
    """Return the samples, one row per task and ``sample_index``: a model's answers, or those of ``samples.source``.

    If a model gave no answer to a sample, the column ``error`` has the reason.

    Raises:
        ConfigError: a sampling parameter has several values (a grid), which only ``bigcodeflow generate`` accepts.
        SamplesError: the sample file is absent or has defects.
        GenerationError: the model cannot be asked.
    """
    return _table_of("generation", config, None, progress=progress)


def sanitize(config: Config, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """Extract the program from each answer; return the programs, one row per sample.

    Raises:
        SamplesError: the samples have defects; the message names all defects.
    """
    return _table_of("sanitizing", config, samples, progress=progress)


def evaluate(config: Config, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """Execute every sample in a sandbox, on a Dask cluster; return the verdicts, one row per sample and variant.

    ``status`` is pass, fail, timeout, out_of_memory, syntax_error, crash, tampered or infra_error; durations are in
    seconds.

    Raises:
        SamplesError: the samples have defects; the message names all defects.
        EnvironmentUnusableError: the sandbox environment is not built.
        SandboxUnavailableError: no sandbox can be started on this machine.
        ExecutionError: the cluster could not be reached or started.
    """
    return _table_of("execution", config, samples, progress=progress)


def aggregate(config: Config, samples: Samples | None = None, *, progress: bool = True) -> pl.DataFrame:
    """Return the scores, one row per metric and slice: pass@k with intervals, for all tasks and by slice.

    Rates are fractions of 1; ``ci_low`` and ``ci_high`` bound the 95 % interval. Raises the errors of :func:`evaluate`.
    """
    return _table_of("aggregation", config, samples, progress=progress)


def run(config: Config, *, progress: bool = True) -> "RunResults":
    """Run every stage, write result files and report, and record the run in the store, as ``bigcodeflow run`` does.

    ``config.out`` names the folder of the result files; if it is empty, a new folder below results/runs is made. With
    ``progress``, the score is printed on standard error.

    Raises:
        ConfigError: ``out`` holds the results of another run.
        BigCodeFlowError: see :func:`evaluate`.
    """
    with progress_listener(quiet=not progress) as listener:
        finished = perform_and_record(_settings(config), listener)
    found = RunResults(find_run(finished.store.location, finished.outputs.record))
    Console(stderr=True, quiet=not progress, soft_wrap=True).print(repr(found), markup=False, highlight=False)
    return found


def read_results(name: str = "latest", store: str | Path = "results/store") -> "RunResults":
    """Return the results of a recorded run; 'latest' selects the latest run of the store.

    ``name`` is the run's record, name or model, or a title such as 'gpt-4o · hard · instruct'.

    Raises:
        ArtifactError: no run has this name, or several different runs have this name.
    """
    _require(name, str, "name", "give the name, model, title or record of a run, or 'latest'")
    _require(store, str | Path, "store", "give the folder or the URL of a store")
    return RunResults(find_run(store, name))


def _table(artifact: str) -> property:
    # Tab completion at a prompt reads a cached_property, but no property.
    def read(results: "RunResults") -> Any:
        if (name := f"_{artifact}") not in vars(results):
            vars(results)[name] = read_frame(results.recorded.path(artifact))
        return vars(results)[name]

    return property(read)


@dataclass(frozen=True, repr=False)
class RunResults:
    """A recorded run; each table is read at its first use. A notebook shows the run's scores.

    Reading a table raises ArtifactError if the run did not make the table, or retention removed the table.
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

    @property
    def scores(self) -> pl.DataFrame:
        """pass@k over all tasks, in the columns variant, k, value, ci_low, ci_high, n_tasks and n_samples."""
        names = ("variant", "k", "value", "ci_low", "ci_high", "n_tasks", "n_samples")
        found: pl.DataFrame = self.metrics.filter(metric="pass@k", slice_kind="all").select(names)
        return found

    def __repr__(self) -> str:
        rows = overall(self.recorded.metrics(), "pass@k")
        texts = [f"{row['variant']} pass@{row['k']} {percent(row['value'])} ({interval(row)})" for row in rows]
        return f"RunResults({self.recorded.title}: {', '.join(texts) or 'no pass@k'})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.recorded.title)}</p>{self.scores._repr_html_()}"


def _settings(config: Config) -> RunConfig:
    if isinstance(config, RunConfig):
        return config
    _require(config, str | Path, "config", "give what load_config returns, or the name or path of a preset")
    return load_config(config)


def _require(value: Any, kind: Any, argument: str, remedy: str) -> None:
    """Raise ConfigError if the value of ``argument`` is not of the type ``kind``; the message ends with ``remedy``."""
    if not isinstance(value, kind):
        raise ConfigError(f"{argument}: is a {type(value).__name__}: {remedy}")


def _table_of(stage: str, config: Config, samples: Samples | None, *, progress: bool) -> pl.DataFrame:
    with _with_samples(_settings(config), samples) as chosen, progress_listener(quiet=not progress) as listener:
        refs = perform_up_to(stage, chosen, listener)
        frame: pl.DataFrame = read_frame(open_store(chosen.store).path(refs[stage]))
        return frame


@contextmanager
def _with_samples(config: RunConfig, samples: Samples | None) -> Iterator[RunConfig]:
    """Yield ``config`` with ``samples`` as sample file; rows go to a temporary file, so that the usual checks apply."""
    if samples is None:
        yield config
        return
    if isinstance(samples, str | Path):
        yield config.model_copy(update={"samples": SamplesConfig(source=str(samples))})
        return
    if not isinstance(samples, Iterable) or isinstance(samples, Mapping):
        raise SamplesError(f"samples: is a {type(samples).__name__}: {_ROWS}")
    rows = samples.iter_rows(named=True) if isinstance(samples, pl.DataFrame) else samples
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"  # lists of runs name a run by its file
        path.write_text("".join(_line(number, row) for number, row in enumerate(rows, start=1)), encoding="utf-8")
        try:
            yield config.model_copy(update={"samples": SamplesConfig(source=str(path))})
        except SamplesError as error:
            message = str(error).replace(f"{path}, line", "samples, row").replace(str(path), "samples")
            raise SamplesError(message) from None


def _line(number: int, row: Any) -> str:
    if not isinstance(row, Mapping):
        raise SamplesError(f"samples, row {number}: is a {type(row).__name__}: {_ROWS}")
    try:
        return json.dumps({name: value for name, value in row.items() if value is not None}) + "\n"
    except (TypeError, ValueError) as error:
        raise SamplesError(
            f"samples, row {number}: has a value that JSON cannot hold ({error}): give texts and numbers"
        ) from None
