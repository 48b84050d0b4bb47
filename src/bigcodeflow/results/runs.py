"""Recorded runs: their models, settings and artifacts."""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, AliasPath, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.config import PromptConfig, Split
from bigcodeflow.config.generation import FORMS, template_sha256
from bigcodeflow.core.display_text import elided
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.plugins import benchmark_name, shown_benchmark
from bigcodeflow.core.schemas import STAGE_FOLDERS
from bigcodeflow.results.formatting import (
    CONTRADICTED_TESTS,
    TASK_VARIANTS,
    board_title,
    disambiguated,
    fits,
    named_model,
    title_of,
)
from bigcodeflow.results.models import Row
from bigcodeflow.store import Store, open_store
from bigcodeflow.store.store import MANIFEST

_FOLDER, _LABELS = "runs", "labels"
#: Sources of samples that are not answers of a model: their scores only test the judge.
CONTROLS = frozenset({"oracle", "stub", "cheat", "starter"})
_LONGEST_VALUE = 24
_MOST_CANDIDATES = 20


_Utc = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]


class RunLabels(BaseModel):
    """Labels that users give a recorded run, in ``labels/RECORD.json`` of the store; no stage reads this file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = ""
    """Name that replaces the run's name in the record; empty keeps the recorded name."""
    tags: tuple[str, ...] = ()
    note: str = ""
    archived: bool = False
    """True if lists, boards and 'latest' leave the run out."""

    def write(self, store: Store, record: str) -> None:
        """Write these labels as the labels of the run ``record``; if all labels are empty, remove the file instead."""
        if self == RunLabels():
            store.remove_file(labels_file(record))
        else:
            store.write(labels_file(record), self.model_dump_json(indent=2).encode())


class RecordedRun(BaseModel):
    """A finished run of a store, with the content of its record."""

    model_config = ConfigDict(extra="ignore", frozen=True, arbitrary_types_allowed=True)

    record: str
    """Unique name of the record; sorting these names sorts the runs by time."""
    store: Store
    run: str
    """Name of the run, from its labels or else from its settings; several records may share it."""
    model: str
    """Model, in the form of the original's file names: [ORGANISATION--]NAME[--REVISION]."""
    labels: RunLabels = RunLabels()
    started_at: _Utc
    finished_at: _Utc | None = None
    config: dict[str, Any] = {}
    """The run's configuration, as `RunConfig` dumps it."""
    artifacts: dict[str, str | None] = {}
    rounds: tuple[dict[str, str], ...] = ()
    """Keys of 'generation', 'sanitizing' and 'execution' of each round after the first; no score uses these rounds."""
    quarantined: frozenset[str] = Field(frozenset(), validation_alias=AliasPath("quarantine", "tasks"))
    """Ids of the run's tasks that were in quarantine when the run was scored."""
    contradicted_tasks: int = 0
    """Number of the run's tasks whose prompts show a contradicting test; above 0, no score of the run counts."""
    task_variants: int = 0
    """Number of the run's tasks that are variants of tasks (see perturbation); above 0, no score of the run counts."""
    selection: str = ""
    """Share of the subset's tasks that the run has, such as '60 of 1,140 tasks'; empty if the run has all tasks."""
    imported: dict[str, Any] = {}
    """Sources of an imported run; empty for runs of this pipeline. In an imported run's ``config``, null means
    unknown."""

    @property
    def keys(self) -> Mapping[str, str]:
        """Keys of the artifacts by name: dataset, generation, sanitizing, ground_truth, execution, aggregation."""
        return {name: key for name, key in self.artifacts.items() if key}

    @property
    def split(self) -> str:
        """'complete' or 'instruct'; empty if it is not known."""
        return str(self.config.get("dataset", {}).get("split", ""))

    @property
    def subset(self) -> str:
        """'full' or 'hard'; empty if it is not known."""
        return str(self.config.get("dataset", {}).get("subset", ""))

    @property
    def dataset(self) -> str:
        """Source of the tasks; empty if it is not known."""
        return str(self.config.get("dataset", {}).get("source") or "")

    @property
    def benchmark(self) -> str:
        """Name of the benchmark, see ``benchmark_name``; empty if it is not known."""
        return benchmark_name(self.dataset)

    @property
    def board(self) -> str:
        """Title of the run's board: benchmark, subset, split, kind of tasks; only runs of one board can be ranked."""
        return board_title(self.subset, self.split, self._kind_of_tasks, benchmark=shown_benchmark(self.dataset))

    @property
    def control(self) -> str:
        """Name of the control that replaces a model; empty if the samples have another source."""
        source = self.config.get("samples", {}).get("source")
        return str(source) if source in CONTROLS else ""

    @property
    def title(self) -> str:
        """Title for people, such as 'gpt-4o · hard · instruct'; several runs may share it."""
        benchmark = shown_benchmark(self.dataset)
        return title_of(self.control or self.model, self.subset, self.split, self._kind_of_tasks, benchmark=benchmark)

    @property
    def _kind_of_tasks(self) -> str:
        kind = CONTRADICTED_TESTS if self.contradicted_tasks else TASK_VARIANTS if self.task_variants else ""
        return kind or self.selection

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Request settings: sampling, prompt and number of samples; empty if no model was asked."""
        if self.config.get("samples", {}).get("source") != "model":
            return {}
        asked = self.config.get("generation", {})
        found = {**asked.get("sampling", {}), **asked.get("prompt", {}), "n_samples": asked.get("n_samples")}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def address(self) -> str:
        """Base URL of the model server; empty for the provider's default URL, or if no model was asked."""
        if self.config.get("samples", {}).get("source") != "model":
            return ""
        return str(self.config.get("generation", {}).get("base_url") or "").rstrip("/")

    @property
    def judging(self) -> Mapping[str, Any]:
        """Settings by name with which the samples were judged; None for a setting that is not known."""
        execution, sanitizing = (self.config.get(name, {}) for name in ("execution", "sanitizing"))
        settings = {name: execution.get(name) for name in ("integrity", "reruns", "fail_fast", "quarantine")}
        return {**(execution.get("limits") or {}), **settings, "safety_policy": sanitizing.get("safety_policy")}

    @property
    def excluded(self) -> frozenset[str]:
        """Ids of quarantined tasks that the run's scores leave out; empty if the scores count quarantined tasks."""
        leaves_out = self.config.get("execution", {}).get("quarantine") == "exclude"
        return self.quarantined if leaves_out else frozenset()

    def metrics(self) -> list[Row]:
        """Return the rows of the run's METRICS table; raise ArtifactError if it cannot be read."""
        rows: list[Row] = read_artifact(self.path("aggregation")).to_pylist()
        return rows

    def path(self, artifact: str) -> Path:
        """Return the Parquet file of an artifact of the run; raise ArtifactError if the store does not have it."""
        path = self.path_if_kept(artifact)
        if path is None:
            raise ArtifactError(
                f"run {self.record}: its {artifact} artifact is not in the store {self.store.location}: run it again"
            )
        return path

    def path_if_kept(self, artifact: str) -> Path | None:
        """Return the Parquet file of an artifact of the run; None if it was never made or was deleted."""
        key = self.keys.get(artifact)
        return self.store.part(STAGE_FOLDERS[artifact], key) if key else None


#: Functions that tell if a name fits a run, in order of priority.
_MATCHES: tuple[Callable[[RecordedRun, str], bool], ...] = (
    lambda run, name: fits(name, run.record),
    lambda run, name: fits(name, run.run),
    lambda run, name: fits(name, run.title),
    lambda run, name: any(fits(name, text) for text in (run.control, run.model, str(named_model(run.model)))),
    lambda run, name: bool(name) and run.record.startswith(name),
)


def recorded_runs(store_root: Path | str) -> list[RecordedRun]:
    """Return all recorded runs of the store, archived ones included, in the order of time."""
    store = open_store(store_root)
    labels = _labels(store)
    return [_read(path, store, labels) for path in store.files(_FOLDER)]


def recorded_run(store: Store, record: str) -> RecordedRun:
    """Return the run with this record name; raise ArtifactError if the store does not have it."""
    path = store.file(f"{_FOLDER}/{record}.json")
    if path is None:
        raise ArtifactError(f"{store.location}: has no run record {record!r}: check the record's name and the store")
    return _read(path, store, _labels(store))


def labels_file(record: str) -> str:
    """Return the path, in the store, of the file with the labels of the run ``record``."""
    return f"{_LABELS}/{record}.json"


def _labels(store: Store) -> Mapping[str, RunLabels]:
    """Return the labels of all labelled runs, by the name of the record."""
    found = {}
    for path in store.files(_LABELS):
        try:
            found[path.stem] = RunLabels.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise ArtifactError(f"{path}: is not a file of run labels ({type(error).__name__}): delete it") from error
    return found


class Judge(NamedTuple):
    """Environment and judge version of a run; None if a value is not known, as for imported runs."""

    environment_sha: str | None
    """Identity of the environment's libraries and data."""
    harness_version: int | None
    """Version of the code that judges a sample."""


def judge_of(run: RecordedRun) -> Judge:
    """Read the environment and the judge of a run from the manifest of its execution artifact."""
    manifest = run.store.folder(STAGE_FOLDERS["execution"], run.keys.get("execution", "")) / MANIFEST
    try:
        judge = json.loads(manifest.read_bytes())["settings"]["content"]["environment"]
        return Judge(str(judge["environment_sha"]), int(judge["harness_version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Judge(None, None)


def titles(runs: Sequence[RecordedRun], *kinds: Sequence[str]) -> list[str]:
    """Return a title for each run; extend titles that runs share by details that differ, until all titles differ.

    The details, in this order: request settings, ``kinds`` (a text for each run, such as its variants), the server's
    address, judging settings, environment, day and time, name, and record.
    """
    details = [
        *_details([run.parameters for run in runs], absent="default"),
        *kinds,
        [run.address for run in runs],
        *_details([run.judging for run in runs], absent="unknown"),
        [str(run.config.get("execution", {}).get("environment", "")) for run in runs],
        [f"{run.started_at:%Y-%m-%d}" for run in runs],
        [f"{run.started_at:%H:%M}" for run in runs],
        [run.run for run in runs],
        [run.record for run in runs],
    ]
    return disambiguated([run.title for run in runs], details)


def _details(settings: Sequence[Mapping[str, Any]], *, absent: str) -> list[list[str]]:
    """Return a list for each setting: for each run the setting's name and value, or '' if the run has no settings."""
    return [
        ["" if text is None else f"{name.replace('_', ' ')} {elided(text, _LONGEST_VALUE)}" for text in texts]
        for name, texts in by_setting(settings, absent=absent).items()
    ]


def by_setting(settings: Sequence[Mapping[str, Any]], *, absent: str | None = None) -> dict[str, list[str | None]]:
    """Map setting names to a text per run: ``absent`` if a run lacks the setting, None if a run has no settings."""

    def text(value: Any) -> str | None:
        return absent if value is None else " ".join(str(value).split())

    names = dict.fromkeys(name for given in settings for name in given)
    return {name: [text(given.get(name)) if given else None for given in settings] for name in names}


def find_run(store_root: Path | str, name: str) -> RecordedRun:
    """Find a run by the name of its record, run or model; 'latest' returns the latest run of the store.

    Priority of matches: record, run name, title (such as 'gpt-4o · hard · instruct'), control or model, beginning of a
    record's name. Of several records of the same run (see `latest_of_each`) the latest is returned. Archived runs fit
    only if no other run fits. If no run fits, or different runs fit, an ArtifactError lists candidates.
    """
    every = recorded_runs(store_root)
    runs = [run for run in every if not run.labels.archived]
    if name == "latest" and runs:
        return runs[-1]
    for candidates in (runs, every):
        for matches in _MATCHES:
            if fitting := [run for run in candidates if matches(run, name)]:
                return _only(fitting, name, store_root)
    known = list(dict.fromkeys(text for run in reversed(runs) for text in (run.run, run.model)))
    close = difflib.get_close_matches(name, known, n=3) or known[:10]
    none = "all its runs are archived: name a run" if every else "the store has no runs: start `bigcodeflow run` first"
    there = f"the store has {', '.join(close)}: choose an existing run" if close else none
    raise ArtifactError(f"{open_store(store_root).location}: no recorded run is called {name!r}; {there}")


def latest_of_each(runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    """Return the latest record of each run, in the order of time.

    A run is identified by its name, model, control, board, server address and request settings.
    """
    found: dict[tuple[str, ...], RecordedRun] = {}
    for run in reversed(list(runs)):
        asked = json.dumps(run.parameters, sort_keys=True, default=str)
        found.setdefault((run.run, run.model, run.control, run.board, run.address, asked), run)
    return list(reversed(found.values()))


def _only(fitting: Sequence[RecordedRun], name: str, store_root: Path | str) -> RecordedRun:
    """Return the latest record if all records in ``fitting`` are of one run; raise ArtifactError if runs differ."""
    found = latest_of_each(fitting)
    if len(found) == 1:
        return found[0]
    shown = found[: -_MOST_CANDIDATES - 1 : -1]
    lines = [
        f"  {run.record}  {title}, {run.started_at:%Y-%m-%d %H:%M}"
        for run, title in zip(shown, titles(shown), strict=True)
    ]
    rest = [f"  and {len(found) - len(shown):,} more"] if len(found) > len(shown) else []
    head = f"{open_store(store_root).location}: {len(found):,} runs fit {name!r}: give a title or a record"
    raise ArtifactError("\n".join([head, *lines, *rest]))


def _read(path: Path, store: Store, labels: Mapping[str, RunLabels]) -> RecordedRun:
    try:
        content = json.loads(path.read_bytes())
        own = {"record": path.stem, "store": store, "model": content.get("model") or content.get("run")}
        if given := labels.get(path.stem):
            own |= {"labels": given, "run": given.name or content.get("run")}
        return RecordedRun.model_validate(content | own)
    except (OSError, ValueError, AttributeError) as error:  # also for JSON that is not an object
        raise ArtifactError(
            f"{path}: is not a run record ({' '.join(str(error).split())}): delete this file, then start the run again"
        ) from error


def asked_splits(run: RecordedRun, templates: Iterable[str]) -> tuple[str, ...]:
    """Return the splits whose prompts the run's model received, sorted; empty if no template shows a split.

    Early versions, whose artifact keys lacked the split, could judge the answers of one split as those of the other.
    ``templates`` are hashes of the requests' templates, from the samples table; each template belongs to one split.
    """
    try:
        prompt = PromptConfig.model_validate(run.config.get("generation", {}).get("prompt", {}))
    except ValidationError:  # settings of another version, whose templates cannot be rebuilt
        return ()
    known = {template_sha256(split, form, prompt): split for split in get_args(Split) for form in FORMS}
    return tuple(sorted({known[template] for template in templates if template in known}))


def is_mismatched(run: RecordedRun, templates: Iterable[str]) -> bool | None:
    """Tell if the model received prompts of another split than the run's; None if no template shows a split."""
    asked = asked_splits(run, templates)
    return bool(set(asked) - {run.split}) if asked else None


def split_mismatch(run: RecordedRun) -> str:
    """Return a clause that describes a split mismatch of the run; empty if there is no mismatch, or none is known."""
    try:
        # pq.read_table would import pandas if it is installed, which takes longer than a whole comparison.
        with pq.ParquetFile(run.path("generation")) as file:
            column = file.read(["template_sha"])["template_sha"]
    except (OSError, KeyError, pa.ArrowException, ArtifactError):  # no samples of a model, or the table was deleted
        return ""
    asked = asked_splits(run, [template for template in column.unique().to_pylist() if template])
    if not set(asked) - {run.split}:
        return ""
    return f"it is recorded as {run.split}, but its model was asked the {' and '.join(asked)} prompts"
