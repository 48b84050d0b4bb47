"""Benchmarks as plug-ins: a converter turns a benchmark's own rows into tasks; see docs/benchmarks_of_your_own.md."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.files import locked, write_atomically
from bigcodeflow.core.paths import cache_folder, user_path
from bigcodeflow.datasets.hub import HUB_SOURCE, HubSource
from bigcodeflow.datasets.sources import SUFFIXES, FileSource, ResolvedDataset, SourceRow, raise_problems, read_rows
from bigcodeflow.datasets.tasks import validate

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """Benchmark that a plug-in adds by an entry point in ``bigcodeflow.datasets`` with the dataset's name."""

    convert: Callable[[Sequence[Values]], Iterable[Values]]
    """Function that converts the benchmark's rows to tasks (columns: docs/datasets.md), or raises a DatasetError for
    invalid rows. The tasks are cached until the rows or ``version`` change."""
    version: int
    """Version of the converter; increase this number if the same rows become different tasks."""
    release: str
    """Version of the benchmark, as shown to users."""
    license: str
    """Licence of the benchmark's data."""
    columns: tuple[str, ...]
    """Columns that every row must have."""
    settings: Values = field(default_factory=dict)
    """Settings of a run that match the benchmark's own harness: prompts, sanitizer, environment, variants, limits.
    Keys may be paths such as 'execution.limits.time_seconds'."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Additional scores: name of the score → prefix of the test methods that must pass for this score."""
    split: str = ""
    """Split of the hub repository that has the entry point's name; empty if tasks come only from a file."""

    def tasks(self, name: str, paths: Sequence[Path]) -> list[dict[str, Any]]:
        """Convert the rows of files to valid tasks with the hub's columns; one DatasetError lists all invalid rows."""
        rows = [row for path in paths for row in read_rows(path)]
        lacking = [(row.place, [one for one in self.columns if one not in row.values]) for row in rows]
        remedy = f"give a file of {name}, {self.release}"
        raise_problems([f"{place}: has no column {', '.join(names)}: {remedy}" for place, names in lacking if names])
        try:
            tasks = [_completed(task) for task in self.convert([row.values for row in rows])]
        except (AttributeError, LookupError, SyntaxError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise DatasetError(f"{paths[0]}: its rows cannot be converted ({problem}): {remedy}") from error
        raise_problems(validate([SourceRow(f"{name}, task {number}", task) for number, task in enumerate(tasks)]))
        return tasks


class BenchmarkSource(NamedTuple):
    """Source of tasks: a benchmark plug-in, and the file or hub dataset whose rows the plug-in converts."""

    name: str
    benchmark: Benchmark
    rows: FileSource | HubSource

    def resolve(self, config: DatasetConfig) -> ResolvedDataset:
        """Pin the content of the benchmark's rows, and add the converter's version to the fingerprint."""
        found = self.rows.resolve(config)
        fingerprint = {**found.fingerprint, "benchmark": self.name, "converter": self.benchmark.version}
        if self.benchmark.parts:
            fingerprint["parts"] = dict(self.benchmark.parts)
        describe = f"{self.name} {self.benchmark.release} ({self.benchmark.license}) from {found.describe}"
        return found._replace(fingerprint=fingerprint, describe=describe)

    def fetch(self, config: DatasetConfig, resolved: ResolvedDataset) -> tuple[Path, ...]:
        """Return the cached file of converted tasks; convert the rows only if this content is not cached yet."""
        content = (resolved.fingerprint.get(one) for one in ("file_sha256", "version", "commit", "converter"))
        name = "-".join(map(str, filter(None, (self.name.replace("/", "_"), *content))))
        kept = cache_folder() / "datasets" / f"{name}.jsonl"
        paths = self.rows.fetch(config, resolved)
        with locked(kept.with_suffix(".lock")):
            if not kept.exists():
                tasks = self.benchmark.tasks(self.name, paths)
                write_atomically(kept, "".join(f"{json.dumps(task)}\n" for task in tasks).encode())
        return (kept,)


def benchmark_source(text: str, benchmark: Benchmark) -> BenchmarkSource:
    """Parse ``text``: NAME=FILE, or NAME[@SPLIT][#COMMIT] if the benchmark is on the hub."""
    name, has_file, file = text.partition("=")
    if has_file:
        if not file.endswith(SUFFIXES):
            raise DatasetError(f"dataset.source {text!r}: {file or 'nothing'} does not end in {', '.join(SUFFIXES)}")
        return BenchmarkSource(name, benchmark, FileSource(user_path(file), file))
    match = HUB_SOURCE.fullmatch(text)
    if match is None or not benchmark.split:
        found = f"name a file of {benchmark.release} as NAME=FILE" + (", or NAME#COMMIT" if benchmark.split else "")
        raise DatasetError(f"dataset.source {text!r}: {found}")
    rows = HubSource(match["repo"], match["version"] or benchmark.split, match["commit"])
    return BenchmarkSource(match["repo"], benchmark, rows)


def _completed(task: Values) -> dict[str, Any]:
    """Return a task with default values for the columns that a converter may leave out."""
    setup = f"def {task.get('entry_point')}(*args, **kwargs):"
    prompts = {"instruct_prompt": task.get("complete_prompt"), "code_prompt": setup}
    return {**prompts, "doc_struct": "{}", "libs": [], "hard": False, **task}
