"""Entries from recorded runs: the latest publishable run of each model, setting, split and subset."""

import csv
import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import bigcodeflow
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS, hard_task_ids
from bigcodeflow.results.formatting import named_model, overall
from bigcodeflow.results.run_settings import setting_of
from bigcodeflow.results.runs import RecordedRun, find_run, recorded_runs, split_mismatch
from bigcodeflow_leaderboard.entries import LeaderboardEntry, RunLink

#: The least share of ground truths that must pass. No model can pass a task whose own solution fails, so a score may be
#: too low by the points that the rate is below 100 %. 2 points stay below the half-width of the 95 % interval of 1,140
#: tasks (2.9 points at a score of one half); sound environments reach 99.5 to 99.7 %.
LEAST_GROUND_TRUTH_RATE = 0.98


class Allowance(StrEnum):
    """A shortcoming of a run that the user may accept (--allow); the entry's remarks then mention it."""

    ground_truth = "ground-truth"
    tests = "tests"


class MeasuredEntries(NamedTuple):
    """Entries of the recorded runs of a store."""

    entries: tuple[LeaderboardEntry, ...]
    refusals: tuple[str, ...]
    """One line for each refused run: its record and title, what is wrong, and what to do."""


def measured_entries(
    store_root: Path | str, *, runs: Sequence[str] = (), allow: Collection[Allowance] = ()
) -> MeasuredEntries:
    """Return entries: for each model, setting, split and subset, the newest run that can be published.

    ``refusals`` name the newer runs that are refused. Controls, archived runs, and runs over contradicted tasks or
    variants of tasks become neither entries nor refusals.

    Args:
        store_root: the store.
        runs: names of the runs to take, each of which must exist and be sound; empty takes all runs.
        allow: shortcomings of runs that are accepted.
    """
    if runs:
        named = (entry_of(find_run(store_root, name), allow=allow) for name in runs)
        return MeasuredEntries(tuple({entry.identity: entry for entry in named}.values()), ())
    entries: dict[tuple[str, ...], LeaderboardEntry] = {}
    refusals: dict[tuple[str, ...], str] = {}
    for run in reversed(recorded_runs(store_root)):
        kind = (*map(str, named_model(run.model)), setting_of(run).key, run.split, run.subset)
        if run.control or run.labels.archived or run.contradicted_tasks or run.task_variants or kind in entries:
            continue
        try:
            entries[kind] = entry_of(run, allow=allow)
        except ArtifactError as error:
            refusals.setdefault(kind, str(error))
    return MeasuredEntries(tuple(entries.values()), tuple(refusals.values()))


def entry_of(run: RecordedRun, *, allow: Collection[Allowance] = ()) -> LeaderboardEntry:
    """Make the entry of a run; raise an ArtifactError with reasons and remedies if the run is refused."""
    try:
        return _entry(run, _Evidence(run), allow)
    except ArtifactError as error:
        raise ArtifactError(f"run {run.record} ({run.title}): {error}") from None


def _entry(run: RecordedRun, evidence: "_Evidence", allow: Collection[Allowance]) -> LeaderboardEntry:
    score, found = evidence.score, list(_shortcomings(run, evidence))
    refused = [str(shortcoming) for shortcoming in found if shortcoming.allowance not in allow]
    if refused or score is None:
        raise ArtifactError("; ".join(refused))
    remarks = [shortcoming.problem for shortcoming in found]
    if count := evidence.count("quarantined_task_count"):
        # Readers must know that the score counts tasks whose own solution does not always pass.
        remarks.append(f"{count:,} of its tasks are in quarantine and count")
    model, setting = named_model(run.model), setting_of(run)
    environment_shas = read_artifact(run.path("execution"), ["environment_sha"])["environment_sha"].unique().to_pylist()
    return LeaderboardEntry(
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
        environment_sha=" ".join(sorted(str(sha) for sha in environment_shas if sha != UNKNOWN)) or None,
        evaluated_at=run.finished_at or run.started_at,
        remarks=tuple(remarks),
        source=f"bigcodeflow {bigcodeflow.__version__}",
        run=run_link(run),
    )


def run_link(run: RecordedRun) -> RunLink:
    """Return a run's record name, artifact keys and dataset; read the dataset's source from its artifact's manifest."""
    path = run.path("dataset").with_name("manifest.json")
    try:
        content = json.loads(path.read_bytes())["settings"].get("content", {})
        content = content.get("dataset", content)  # artifacts of version 0.1.0 hold the dataset's content alone
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error}): start the same run again, which restores it") from None
    if not isinstance(content, dict):
        content = {}
    if "hub" in content:
        dataset = f"{content['hub']}@{content.get('version', '')}"
    else:
        # Only the file's name: folders of this machine are private.
        dataset = Path(str(run.config.get("dataset", {}).get("source", ""))).name
    return RunLink(record=run.record, dataset=dataset, dataset_revision=content.get("commit"), artifacts=run.keys)


class _Evidence:
    """Facts that decide if a run can be published: tasks, calibrated pass@1, and share of passing ground truths."""

    def __init__(self, run: RecordedRun) -> None:
        self._metrics = run.metrics()
        self.tasks = read_artifact(run.path("dataset"), ["task_id", "test"]).to_pylist()
        scores = overall(self._metrics, "pass@k")
        self.score = next((row for row in scores if (row["variant"], row["k"]) == ("calibrated", 1)), None)
        rate = next((row["value"] for row in overall(self._metrics, "ground_truth_rate")), math.nan)
        self.ground_truth_rate = None if math.isnan(rate) else float(rate)

    def count(self, metric: str) -> int:
        """Return a count, such as 'infra_error_count', for calibrated programs; 0 if the metrics table lacks it."""
        return int(sum(row["value"] for row in overall(self._metrics, metric) if row["variant"] == "calibrated"))


class _Shortcoming(NamedTuple):
    """Reason why a score is refused, its remedy, and the --allow value that accepts it (None: no value does)."""

    problem: str
    remedy: str
    allowance: Allowance | None = None

    def __str__(self) -> str:
        allowed = f", or pass --allow {self.allowance}" if self.allowance else ""
        return f"{self.problem}: {self.remedy}{allowed}"


def _shortcomings(run: RecordedRun, evidence: _Evidence) -> Iterator[_Shortcoming]:
    """Yield everything that is wrong with a run's score, the worst first."""
    yield from _no_scores(run)
    wanted = hard_task_ids() if run.subset == "hard" else BIGCODEBENCH_IDS
    given = {task["task_id"] for task in evidence.tasks}
    if given != wanted:
        others = f"and {len(given - wanted):,} others" if given - wanted else "only"
        yield _Shortcoming(
            f"it has {len(given & wanted):,} of the {len(wanted):,} tasks of BigCodeBench {run.subset} {others}",
            "run it over the whole subset, without ids, libraries or domains; existing verdicts are reused",
        )
    if evidence.score is None or math.isnan(evidence.score["value"]):
        yield _Shortcoming(
            "it has no calibrated pass@1",
            "run it again with execution.variants including calibrated and aggregation.k including 1",
        )
    if count := evidence.count("infra_error_count"):
        problem = f"it is provisional, {count:,} of its samples were not judged"
        yield _Shortcoming(problem, "run it again; only these samples are executed")
    if count := evidence.count("excluded_task_count"):
        remedy = "run it again with execution.quarantine=flag; nothing is executed again"
        yield _Shortcoming(f"its score leaves out {count:,} quarantined tasks", remedy)
    rate = evidence.ground_truth_rate
    if rate is None:
        yield _Shortcoming(
            "it is unknown how many ground truths pass where its samples were executed",
            "import it again with its pass_at_k.json next to it, if that states the number, or judge its samples here",
            Allowance.ground_truth,
        )
    elif rate < LEAST_GROUND_TRUTH_RATE:
        yield _Shortcoming(
            f"only {100 * rate:.1f} % of the ground truths pass where its samples were executed, and "
            f"{100 * LEAST_GROUND_TRUTH_RATE:.0f} % are needed",
            "see `bigcodeflow env check`, correct the environment and run it again",
            Allowance.ground_truth,
        )
    if other := other_tests(evidence.tasks):
        named = ", ".join(other[:3]) + (" …" if other[3:] else "")
        problem = f"the tests of {len(other):,} tasks are not those of v0.1.4 ({named})"
        yield _Shortcoming(problem, "run it on bigcode/bigcodebench@v0.1.4", Allowance.tests)


def _no_scores(run: RecordedRun) -> Iterator[_Shortcoming]:
    """Yield the reasons why a run's numbers are no score of the benchmark; --allow accepts none of them."""
    if run.control:
        yield _Shortcoming(f"its samples are the {run.control} control, no model's answers", "name a run of a model")
    if run.contradicted_tasks:
        problem = f"{run.contradicted_tasks:,} of its tasks show tests that contradict them"
        yield _Shortcoming(problem, "name a run of the benchmark's own tasks")
    if run.task_variants:
        problem = f"{run.task_variants:,} of its tasks are variants of the benchmark's tasks"
        yield _Shortcoming(problem, "name a run of the benchmark's own tasks")
    if mismatch := split_mismatch(run):
        # The answers belong to other prompts; no allowance accepts that.
        yield _Shortcoming(mismatch, "run it again: its model is then asked for the missing answers")


def other_tests(tasks: Sequence[Mapping[str, str]]) -> list[str]:
    """Return ids of tasks whose test differs from BigCodeBench v0.1.4; 7 tasks with unknown hash are not checked."""
    digests = {
        task["task_id"]: hashlib.sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest() for task in tasks
    }
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        known = {row["task_id"]: row["test_sha256"] for row in csv.DictReader(file)}
    return [task_id for task_id, digest in digests.items() if known.get(task_id, digest) != digest]
