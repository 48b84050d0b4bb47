"""Entries from recorded runs: of each model, setting, split and subset the latest run whose score can be published."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import bigcodeflow
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.leaderboard.entries import Entry, RunLink
from bigcodeflow.results.leaderboard.gate import Allowance, Evidence, Shortcoming, shortcomings
from bigcodeflow.results.leaderboard.settings import model_of, setting_of
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import RecordedRun, find_run, recorded_runs


class Refusal(NamedTuple):
    """A run that is not published."""

    run: RecordedRun
    reason: str

    def __str__(self) -> str:
        return f"run {self.run.record} ({self.run.title}): {self.reason}"


class Measured(NamedTuple):
    """What the recorded runs of a store come to."""

    entries: tuple[Entry, ...]
    refusals: tuple[Refusal, ...]


def measured_entries(store_root: Path | str, *, runs: Sequence[str] = (), allow: Iterable[Allowance] = ()) -> Measured:
    """Entries of a store's runs, and those runs that are refused although they are the latest of their kind.

    A refused run does not hide an earlier one that can be published. Controls are no entries and are not refused.

    Args:
        store_root: the store.
        runs: names of the runs to take, as :func:`find_run` reads them; empty takes all that there are.
        allow: shortcomings that do not refuse a run.

    Raises:
        ArtifactError: a record that cannot be read, or a run that was named and is not there or refused.
    """
    allowed = frozenset(allow)
    if runs:
        named = (entry_of(find_run(store_root, name), allow=allowed) for name in runs)
        return Measured(tuple({entry.identity: entry for entry in named}.values()), ())
    entries: dict[tuple[str, ...], Entry] = {}
    refusals: dict[tuple[str, ...], Refusal] = {}
    for run in reversed(recorded_runs(store_root)):
        if run.control:
            continue
        kind = (*map(str, model_of(run)), setting_of(run).key, run.split, run.subset)
        if kind in entries:
            continue
        found = _judged(run, allowed)
        if isinstance(found, Entry):
            entries[kind] = found
        else:
            refusals.setdefault(kind, found)
    return Measured(tuple(entries.values()), tuple(refusals.values()))


def entry_of(run: RecordedRun, *, allow: Iterable[Allowance] = ()) -> Entry:
    """The entry of one run.

    Raises:
        ArtifactError: it is refused; the message says why, and what to do.
    """
    found = _judged(run, frozenset(allow))
    if isinstance(found, Refusal):
        raise ArtifactError(f"{found}")
    return found


def _judged(run: RecordedRun, allowed: frozenset[Allowance]) -> Entry | Refusal:
    try:
        evidence = Evidence(
            run=run,
            metrics=_table(run, "aggregation").to_pylist(),
            tasks=_table(run, "dataset", ["task_id", "test"]).to_pylist(),
        )
        found = list(shortcomings(evidence))
        refused = [shortcoming for shortcoming in found if shortcoming.allowance not in allowed]
        if refused or evidence.score is None:
            return Refusal(run, "; ".join(map(str, refused)))
        return _entry(evidence, evidence.score, found)
    except ArtifactError as error:
        return Refusal(run, str(error))


def _entry(evidence: Evidence, score: Row, remarks: Sequence[Shortcoming]) -> Entry:
    run = evidence.run
    model, setting = model_of(run), setting_of(run)
    return Entry(
        origin="ours",
        model=model.name,
        revision=model.revision,
        setting=setting.text,
        setting_key=setting.key,
        split="instruct" if run.split == "instruct" else "complete",
        subset="hard" if run.subset == "hard" else "full",
        pass_at_1=score["value"],
        ci_low=score["ci_low"],
        ci_high=score["ci_high"],
        n_tasks=score["n_tasks"],
        n_samples=score["n_samples"],
        ground_truth_rate=evidence.ground_truth_rate,
        sanitizer=None if score["sanitizer"] == UNKNOWN else score["sanitizer"],
        environment=run.config.get("execution", {}).get("environment"),
        environment_sha=_environment_sha(run),
        evaluated_at=run.finished_at or run.started_at,
        model_date=None,
        size_b=None,
        remarks=(*(shortcoming.problem for shortcoming in remarks), *_quarantine(evidence)),
        source=f"bigcodeflow {bigcodeflow.__version__}",
        run=_link(run),
    )


def _quarantine(evidence: Evidence) -> Iterator[str]:
    """What a reader must know of a score that counts tasks whose own solution does not always pass."""
    count = evidence.count("quarantined_task_count")
    if count:
        yield f"{count:,} of its tasks are in quarantine and count"


def _environment_sha(run: RecordedRun) -> str | None:
    """Identity of the environment as the verdicts state it; several where they do not agree, None where unknown."""
    found = _table(run, "execution", ["environment_sha"])["environment_sha"].unique().to_pylist()
    return " ".join(sorted(str(sha) for sha in found if sha != UNKNOWN)) or None


def _link(run: RecordedRun) -> RunLink:
    content = _dataset_content(run)
    if "hub" in content:
        dataset = f"{content['hub']}@{content.get('version', '')}"
    else:
        # The folders of the machine are nobody's business.
        dataset = Path(str(run.config.get("dataset", {}).get("source", ""))).name
    return RunLink(record=run.record, dataset=dataset, dataset_revision=content.get("commit"), artifacts=dict(run.keys))


def _dataset_content(run: RecordedRun) -> Mapping[str, Any]:
    """What the dataset artifact's manifest says of the source's content."""
    path = run.path("dataset").with_name("manifest.json")
    try:
        content = json.loads(path.read_bytes())["settings"].get("content", {})
        content = content.get("dataset", content)  # artifacts of version 0.1.0 hold the dataset's content alone
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error}): run the dataset stage again") from None
    return content if isinstance(content, dict) else {}


def _table(run: RecordedRun, artifact: str, columns: list[str] | None = None) -> pa.Table:
    path = run.path(artifact)
    try:
        return pq.read_table(path, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise ArtifactError(f"{path}: cannot be read ({' '.join(str(error).split())}): run it again") from None
