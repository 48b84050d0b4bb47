"""Results of studies in a store: listed by their manifests, read as tables and as sections of a page."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.plugins import study_entries
from bigcodeflow.core.schemas import study_schemas, table_of
from bigcodeflow.report.overview import Section
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow.store import ArtifactRef, Store
from bigcodeflow.store.store import MANIFEST, described
from bigcodeflow.studies.registry import Study, installed_studies

Key = TypeVar("Key")
Row = TypeVar("Row")


class StudyRecord(NamedTuple):
    """One study result in the store."""

    ref: ArtifactRef
    title: str
    """Subject of the study; several results may share it."""
    models: tuple[str, ...]
    """Models that the result is about, spelled as in the original's file names; empty if it is about the tasks."""
    settings: dict[str, Any]
    written_at: datetime
    execution: str
    """Key of the first execution artifact among the result's inputs; empty if no input is an execution."""

    @property
    def study(self) -> Study[Any]:
        """Study that made the result."""
        return installed_studies()[self.ref.stage]

    def sections(self, store: Store) -> list[Section]:
        """Return the result's tables as sections of a page; raise ArtifactError if the result's file cannot be read."""
        study, stem = self.study, f"{self.ref.stage}-{self.ref.key[:12]}"
        found = []
        for number, table in enumerate(self.study.tables(store.read(self.ref))):
            lead = f"{study.title}: {self.title}. {study.description}" if number == 0 else ""
            found.append(Section(f"{stem}-{number}", table.title or study.title, lead, table))
        return found


def publish_study(
    store: Store,
    study: str,
    key: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    title: str,
    models: Sequence[str] = (),
    settings: Mapping[str, Any],
    inputs: Sequence[ArtifactRef] = (),
) -> ArtifactRef:
    """Publish a study's result to the store and the catalog; if the store has ``key``, return the stored result.

    The rows must have the columns of the study's schema.
    """
    if found := store.find(study, key):
        return found
    described_by = {**settings, "title": title, "models": list(models)}
    table = table_of(rows, study_schemas()[study])
    ref = store.publish(study, key, table, settings=described_by, inputs=inputs)
    rebuild_catalog(store.location)
    return ref


def rows_on_tasks(
    run: RecordedRun, tests: Mapping[str, str], artifact: str, columns: list[str]
) -> list[dict[str, Any]]:
    """Return an artifact's rows of the tasks whose test text in the run's dataset equals ``tests[task_id]``."""
    asked = read_artifact(run.path("dataset"), ["task_id", "test"]).to_pylist()
    alike = {row["task_id"] for row in asked if tests.get(row["task_id"]) == row["test"]}
    return [row for row in read_artifact(run.path(artifact), columns).to_pylist() if row["task_id"] in alike]


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Group the rows by the value of ``key(row)``; keys and rows keep the order in which they first occur."""
    groups = defaultdict[Key, list[Row]](list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def recorded_studies(store: Store) -> list[StudyRecord]:
    """Return every study result in the store, the latest first; skip results without a readable manifest."""
    # Studies are imported only if there are results.
    paths = (path for study in study_entries() for path in store.published(study) if study in installed_studies())
    contents = (path.with_name(MANIFEST).read_bytes() for path in paths)
    found = [_record(ref, json.loads(content)) for content in contents if (ref := described(content))]
    return sorted(found, key=lambda record: record.written_at, reverse=True)


def current_studies(store: Store) -> list[StudyRecord]:
    """Return study results, the latest first; skip a result if a later result about the same run replaces it."""
    found: list[StudyRecord] = []
    for record in recorded_studies(store):
        if not any(_replaces(later, record) for later in found):
            found.append(record)
    return found


def _replaces(later: StudyRecord, record: StudyRecord) -> bool:
    """Tell if `later` replaces `record`: same run, same feedback, and at least as many repair rounds."""
    given, now = record.settings, later.settings
    return bool(
        record.study.is_of_one_run
        and record.execution
        and (record.ref.stage, record.execution) == (later.ref.stage, later.execution)
        and given.get("generation.feedback") == now.get("generation.feedback")
        and given.get("generation.rounds", 0) <= now.get("generation.rounds", 0)
    )


def _record(ref: ArtifactRef, manifest: Mapping[str, Any]) -> StudyRecord:
    settings = manifest["settings"]
    written_at = datetime.fromisoformat(manifest["written_at"]).astimezone(UTC)
    title, models = str(settings.get("title", ref.stage)), tuple(settings.get("models", ()))
    execution = next((one["key"] for one in manifest["inputs"] if one["stage"] == "execution"), "")
    return StudyRecord(ref, title, models, settings, written_at, execution)


def sections_of(store: Store, runs: Iterable[RecordedRun]) -> list[Section]:
    """Return page sections of the latest study results about ``runs`` and their models, see `sections_about`."""
    runs = list(runs)
    executions = [one.keys["execution"] for one in runs if "execution" in one.keys]
    return sections_about(store, {one.model for one in runs}, executions)


def sections_about(store: Store, models: Collection[str], executions: Collection[str]) -> list[Section]:
    """Return page sections of study results about any of ``models``: the latest result for each study and title.

    A result about a single run counts only if the key of the run's execution is in ``executions``; the latest result
    for each study, title and run is kept.
    """
    latest: dict[tuple[str, str, str], StudyRecord] = {}
    for record in current_studies(store):
        run = record.execution if record.study.is_of_one_run else ""
        if set(record.models) & set(models) and (not run or run in executions):
            latest.setdefault((record.ref.stage, record.title, run), record)
    return [section for record in latest.values() for section in record.sections(store)]
