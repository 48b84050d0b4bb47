"""Load tasks from the hub, a file, a benchmark plug-in or the starter set; validate and select them for a run."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.difficulty import SHIPPED_SOLVE_RATES
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.paths import shipped, user_path
from bigcodeflow.core.plugins import benchmark_of
from bigcodeflow.core.schemas import TASKS, table_of
from bigcodeflow.datasets import amendments
from bigcodeflow.datasets.benchmarks import Benchmark, BenchmarkSource, benchmark_source
from bigcodeflow.datasets.hub import DEFAULT_VERSION, HUB_SOURCE, HubSource
from bigcodeflow.datasets.sources import SUFFIXES, FileSource, ResolvedDataset, SourceRow, raise_problems, read_rows
from bigcodeflow.datasets.tasks import (
    BIGCODEBENCH_IDS,
    hard_task_ids,
    ids_text,
    select,
    solve_rates_of,
    task_rows,
    validate,
)

__all__ = ["DEFAULT_VERSION", "Benchmark", "ResolvedDataset"]
__all__ += ["known_task_ids", "load_tasks", "narrowed", "resolve", "selection_of", "solve_rates", "validate_source"]

#: Part of every dataset artifact's key; increase it when this package makes other rows from the same source.
VERSION = 1


def parse_source(text: str) -> FileSource | HubSource | BenchmarkSource:
    """Parse ``dataset.source``: 'starter', a file, a benchmark plug-in, or OWNER/NAME[@VERSION][#COMMIT] on the hub.

    A text with the suffix of a task file, such as .jsonl, names a file, even if the text also looks like a hub name.
    """
    if benchmark := benchmark_of(text):
        return benchmark_source(text, benchmark)
    if text == "starter":
        return FileSource(shipped("data/starter/tasks.jsonl"), "starter")
    path = user_path(text)
    if text.endswith(SUFFIXES):
        return FileSource(path, text)
    if path.is_file():
        raise DatasetError(f"{text}: is not a task file: name a file that ends in {', '.join(SUFFIXES)}")
    if match := HUB_SOURCE.fullmatch(text):
        return HubSource(match["repo"], match["version"] or DEFAULT_VERSION, match["commit"])
    raise DatasetError(
        f"dataset.source {text!r} is neither 'starter', nor a hub dataset such as "
        f"'bigcode/bigcodebench@{DEFAULT_VERSION}', nor a file that ends in {', '.join(SUFFIXES)}"
    )


def resolve(config: DatasetConfig) -> ResolvedDataset:
    """Pin ``dataset.source`` to its exact content, with at most one request to the hub; no task is read.

    Also pin the overlay; the shipped errata if ``dataset.view`` is 'verified'; and the solve rates if
    ``dataset.difficulty`` is set, which takes at most one more request.
    """
    resolved = amendments.resolved(parse_source(config.source).resolve(config), config)
    if not config.difficulty:
        return resolved
    with _of_solve_rates():
        rates = _solve_rate_source(config).resolve(config)
    fingerprint = {**resolved.fingerprint, "solve_rates": rates.fingerprint}
    describe = f"{resolved.describe}; solve rates: {rates.describe}"
    return ResolvedDataset(fingerprint, describe, resolved.files, rates)


def load_tasks(config: DatasetConfig, resolved: ResolvedDataset) -> pa.Table:
    """Load the tasks that ``config`` selects (TASKS schema), in source order; a DatasetError lists all invalid rows."""
    rows = amendments.amended(_rows(config, resolved), config, resolved)
    raise_problems(validate(rows))
    tasks = task_rows(rows)
    known, rates = _known(task["task_id"] for task in tasks), solve_rates(config, resolved)
    kept = select(amendments.kept(tasks, config), config, known, rates)
    return table_of(kept, schema=TASKS)


def known_task_ids(config: DatasetConfig, resolved: ResolvedDataset) -> frozenset[str]:
    """Return the task ids that a sample file may contain: all ids of the source, even of tasks that are not selected.

    If the source has a BigCodeBench task, all 1,140 ids of BigCodeBench are included: a sample file for the full
    benchmark is thus also valid for the subset hard.
    """
    ids = (row.values.get("task_id") for row in _rows(config, resolved))
    return _known(task_id for task_id in ids if isinstance(task_id, str))


def narrowed(config: DatasetConfig, resolved: ResolvedDataset, answered: frozenset[str]) -> DatasetConfig:
    """Return a copy of ``config`` whose ``ids`` select only the ``answered`` tasks, that is, tasks with samples.

    Return ``config`` unchanged if all or none of the selected tasks are answered, or if an id contains a comma.
    """
    known = known_task_ids(config, resolved)
    # The first two need no task to be read.
    if not answered & known or known <= answered or (config.subset == "hard" and known & hard_task_ids() == answered):
        return config
    selected = load_tasks(config.model_copy(update={"limit": 0}), resolved)["task_id"].to_pylist()
    kept = [task_id for task_id in selected if task_id in answered]
    if len(kept) in (0, len(selected)) or any("," in task_id for task_id in kept):
        return config
    return config.model_copy(update={"ids": ids_text(kept, known)})


def selection_of(config: DatasetConfig, resolved: ResolvedDataset, n_tasks: int) -> str:
    """Return a text such as '60 of 1,140 tasks' if settings select fewer tasks than the subset has; else empty."""
    chosen = (config.ids, config.limit, config.libraries, config.domains, config.difficulty, config.released_after)
    if not any(chosen):
        return ""
    rows, hard = [row.values for row in _rows(config, resolved)], hard_task_ids()
    if config.subset == "hard":
        rows = [row for row in rows if (row["task_id"] in hard if row.get("hard") is None else row["hard"])]
    whole = len(amendments.kept(rows, config))
    return f"{n_tasks:,} of {whole:,} tasks" if n_tasks < whole else ""


def solve_rates(config: DatasetConfig, resolved: ResolvedDataset) -> Mapping[str, float]:
    """Return for each task id the share of published models that solve the task; empty without dataset.difficulty."""
    if resolved.solve_rates is None:
        return {}
    with _of_solve_rates():
        paths = _solve_rate_source(config).fetch(config, resolved.solve_rates)
        return solve_rates_of([row for path in paths for row in read_rows(path)])


def validate_source(config: DatasetConfig) -> list[str]:
    """Return every error in the rows of ``dataset.source``, one line per error; an empty list if all rows are valid."""
    return validate(_rows(config, resolve(config)))


def _solve_rate_source(config: DatasetConfig) -> FileSource | HubSource | BenchmarkSource:
    if config.solve_rates:
        return parse_source(config.solve_rates)
    return FileSource(shipped(SHIPPED_SOLVE_RATES), "shipped")


@contextmanager
def _of_solve_rates() -> Iterator[None]:
    """Replace dataset.source by dataset.solve_rates in the message of each DatasetError that the block raises."""
    try:
        yield
    except DatasetError as error:
        raise DatasetError(str(error).replace("dataset.source", "dataset.solve_rates")) from None


def _rows(config: DatasetConfig, resolved: ResolvedDataset) -> list[SourceRow]:
    return [row for path in parse_source(config.source).fetch(config, resolved) for row in read_rows(path)]


def _known(task_ids: Iterable[str]) -> frozenset[str]:
    ids = frozenset(task_ids)
    return ids | BIGCODEBENCH_IDS if ids & BIGCODEBENCH_IDS else ids
