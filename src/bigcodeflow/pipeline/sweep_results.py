"""Plan the runs of a sweep by comparing stage keys, and report their results in tables (a row per run) and files."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.paths import user_path
from bigcodeflow.core.plugins import shown_benchmark
from bigcodeflow.pipeline.outputs import own_folder, recorded_in
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import planned_run
from bigcodeflow.pipeline.stages import STAGES, RunArtifacts
from bigcodeflow.pipeline.sweeps import Member, SweepConfig
from bigcodeflow.results.formatting import interval, overall, percent, title_of
from bigcodeflow.results.runs import RecordedRun, recorded_runs
from bigcodeflow.store import open_store

Outcome = Literal["ran", "reused", "failed"]
#: Artifact → its inputs, and the cause if its key changed although the keys of these inputs did not.
_CAUSES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "dataset": ((), "other tasks"),
    "generation": (("dataset",), "other answers"),
    "ground_truth": (("dataset",), "another environment or other limits"),
    "sanitizing": (("dataset", "generation"), "another sanitizer"),
    "execution": (("sanitizing", "ground_truth"), "other variants or reruns"),
    "aggregation": (("execution",), "other scores asked for"),
}


class Plan(NamedTuple):
    """Plan of a sweep's run: the stages that have to run, and the reason."""

    member: Member
    artifacts: RunArtifacts | None
    """Artifacts of the run if all of them exist already, else None."""
    missing: tuple[str, ...]
    """Titles of the stages that have to run, in order."""
    cause: str
    """Reason for the missing stages: the difference from the last recorded run of the same name."""
    problem: str = ""
    """Message of the error that prevents planning; the run itself will fail with the same error."""
    recorded: RecordedRun | None = None
    """Last recorded run of the same name, if it has exactly these artifacts."""

    def placed(self, folder: str) -> "Plan":
        """Return the plan; fill an empty ``out`` with the reused run's folder, else a subfolder of ``folder``."""
        config, recorded = self.member.config, self.recorded
        if config.out:
            return self
        kept = str(recorded.config.get("out", "")) if recorded and self.artifacts else ""
        if not recorded or recorded_in(kept) != recorded.record:
            kept = f"{folder}/{self.member.name}"
        return self._replace(member=self.member._replace(config=config.model_copy(update={"out": kept})))

    def result(self, outcome: "Outcome", **found: Any) -> "MemberResult":
        """Make the run's result row; ``found`` holds the fields that do not follow from the plan and ``outcome``."""
        member, view = self.member, self.member.config.dataset
        own: dict[str, Any] = {"name": member.name, "model": member.model, "setting": member.setting}
        own |= {"benchmark": shown_benchmark(view.source), "split": view.split, "subset": view.subset}
        own |= {"stages": self.missing, "cause": self.cause}
        return MemberResult(**own, **found, outcome=outcome, out=member.config.out)


def last_runs(store_root: str) -> dict[str, RecordedRun]:
    """Return the latest recorded run of each name: the name in its settings, or if empty, the record's run name."""
    return {run.config.get("name") or run.run: run for run in recorded_runs(store_root)}


def plan_of(member: Member, last: RecordedRun | None, resolver: Resolver) -> Plan:
    """Plan a run by comparing it with its last recorded run; nothing is computed."""
    try:
        run = resolver(member.config)
        artifacts, missing = planned_run(run)
    except BigCodeFlowError as error:
        return Plan(member, None, (), "", str(error))
    asks = "" if run.environment else f"; the environment of backend {member.config.execution.backend} is not known yet"
    keys = {name: ref.key for name, ref in artifacts.by_stage.items()}
    rounds = [one.keys for one in artifacts.rounds]
    recorded = last if last is not None and dict(last.keys) == keys and list(last.rounds) == rounds else None
    if not missing:
        return Plan(member, artifacts, (), "", recorded=recorded)
    changed = {name for name, key in keys.items() if last is not None and last.keys.get(name) != key}
    causes = [
        cause for name, (inputs, cause) in _CAUSES.items() if name in changed and not changed.intersection(inputs)
    ]
    if last is not None and not causes and list(last.rounds) != rounds:
        causes = ["other rounds"]
    cause = "new" if last is None else ", ".join(causes) or "artifacts gone, or samples left unjudged"
    return Plan(member, None, missing, cause + asks, recorded=recorded)


class MemberResult(BaseModel):
    """Result of a run of a sweep."""

    model_config = ConfigDict(frozen=True)

    name: str
    model: str
    benchmark: str
    """Name of the benchmark; empty for BigCodeBench, its starter set, and a task file."""
    split: str
    subset: str
    setting: str
    outcome: Outcome
    stages: tuple[str, ...] = ()
    """Titles of the stages that had to run; the artifacts of all other stages were reused."""
    cause: str = ""
    """Reason why these stages had to run."""
    variant: str = ""
    pass_at_1: float | None = None
    """pass@1 as a share from 0 to 1; None if it was not computed."""
    ci_low: float | None = None
    ci_high: float | None = None
    n_tasks: int = 0
    n_samples: int = 0
    infra_errors: int = 0
    """Number of samples without a verdict for a reason outside the sample; if not 0, the score is provisional."""
    ground_truth_rate: float | None = None
    cost_usd: float | None = None
    """List price of the answers of all rounds, reused answers included; None if no price is known."""
    seconds: float = 0.0
    """Wall time of the run in this sweep."""
    out: str
    error: str = ""
    """Message of the error if the run failed."""


class SweepFailedError(ExecutionError):
    """Error for a sweep in which some runs failed; all other runs are finished."""

    def __init__(self, message: str, results: Sequence[MemberResult] = ()) -> None:
        super().__init__(message)
        self.results = tuple(results)


def finished_result(plan: Plan, artifacts: RunArtifacts, *, outcome: Outcome, seconds: float = 0.0) -> MemberResult:
    """Return the result row of a run whose ``artifacts`` all exist."""
    store = open_store(plan.member.config.store)
    rows = store.read(artifacts.aggregation).to_pylist()
    scores = {row["variant"]: row for row in overall(rows, "pass@k") if row["k"] == 1}
    score, found = scores.get("calibrated") or scores.get("raw"), {}
    if score:
        found = {name: score[name] for name in ("variant", "ci_low", "ci_high", "n_tasks", "n_samples")}
        found["pass_at_1"] = score["value"]
    rate = next(overall(rows, "ground_truth_rate"), None)
    asked = [artifacts.generation, *(one.generation for one in artifacts.rounds)]
    costs = [cost for ref in asked for cost in store.read(ref, ["cost_usd"])["cost_usd"].drop_null().to_pylist()]
    return plan.result(
        outcome,
        **found,
        infra_errors=int(artifacts.aggregation.statistics.get("infra_errors", 0)),
        ground_truth_rate=rate and rate["value"],
        cost_usd=sum(costs) if costs else None,
        seconds=seconds,
    )


def refuse_failures(sweep: SweepConfig, results: Sequence[MemberResult]) -> None:
    """Raise SweepFailedError if any run failed; the message has a line with the reason for each failed run."""
    if failed := [result for result in results if result.outcome == "failed"]:
        first = f"sweep {sweep.name}: {len(failed):,} of {len(results):,} runs failed; run it again to repeat these"
        raise SweepFailedError("\n".join([first, *(f"{one.name}: {one.error}" for one in failed)]), results)


def summary(results: Sequence[MemberResult]) -> str:
    """Count the runs of a sweep by outcome, such as '12 runs: 10 ran, 2 reused'."""
    counts = Counter(result.outcome for result in results)
    outcomes = ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in get_args(Outcome) if counts[outcome])
    return f"{len(results):,} runs: {outcomes}"


def result_rows(results: Sequence[MemberResult]) -> list[dict[str, str]]:
    """Return a table row per run, as a mapping from column to formatted text."""
    return [
        {
            "model": result.model,
            "benchmark": result.benchmark,
            "split": result.split,
            "subset": result.subset,
            "setting": result.setting,
            "pass@1": _score_text(result),
            "95 % interval": interval(result.model_dump()),
            "ground truths": "" if result.ground_truth_rate is None else percent(result.ground_truth_rate),
            "tasks": f"{result.n_tasks:,}" if result.n_tasks else "",
            "cost": "" if result.cost_usd is None else f"$ {result.cost_usd:,.2f}",
            "time": f"{result.seconds:,.1f} s" if result.seconds else "",
            "done": _done_text(result),
            "files": result.out,
        }
        for result in results
    ]


#: Columns that fit on a terminal, and those that fit on a page of the Prefect UI next to its panel of details.
_OF_TERMINALS = ("pass@1", "95 % interval", "ground truths", "cost", "time", "done")
OF_PAGES = ("pass@1", "95 % interval", "cost", "done")


def brief_rows(results: Sequence[MemberResult], wanted: Sequence[str] = _OF_TERMINALS) -> list[dict[str, str]]:
    """Return a table row per run with its title and the ``wanted`` columns; leave out columns without any text."""
    rows = [
        {
            "run": title_of(result.model, result.subset, result.split, result.setting, benchmark=result.benchmark),
            **{name: row[name] for name in wanted},
        }
        for result, row in zip(results, result_rows(results), strict=True)
    ]
    used = {name for row in rows for name, text in row.items() if text}
    return [{name: text for name, text in row.items() if name in used} for row in rows]


def _score_text(result: MemberResult) -> str:
    if result.pass_at_1 is None:
        return ""
    applies = {"raw": result.variant == "raw", "provisional": result.infra_errors > 0}
    remarks = ", ".join(remark for remark, holds in applies.items() if holds)
    return percent(result.pass_at_1) + (f" ({remarks})" if remarks else "")


def _done_text(result: MemberResult) -> str:
    if result.outcome == "reused":
        return "all reused"
    text = ": ".join(filter(None, (result.outcome, _stages_text(result.stages))))
    return f"{text} ({result.cause})" if result.cause else text


def _stages_text(stages: Sequence[str]) -> str:
    whole = {spec.title for name, spec in STAGES.items() if name != "repair"}
    return "all stages" if whole <= set(stages) else ", ".join(dict.fromkeys(stages))


def plan_rows(plans: Sequence[Plan]) -> list[dict[str, str]]:
    """Return a table row per planned run: its title, the stages to run, and the reason."""
    return [
        {"run": plan.member.title, "to do": _stages_text(plan.missing) or plan.problem or "nothing", "why": plan.cause}
        for plan in plans
    ]


def folder_of(sweep: SweepConfig, moment: datetime, token: str = "") -> str:
    """Return the sweep's results folder: the configured folder, or a new folder (see ``own_folder``)."""
    return sweep.out or own_folder("results/sweeps", sweep.name, moment, token)


def write_results(sweep: SweepConfig, results: Sequence[MemberResult], folder: str) -> Path:
    """Write the results as sweep.json into the sweep's folder, with an entry per run and the fields of MemberResult."""
    content = {"sweep": sweep.name, "runs": [result.model_dump(mode="json") for result in results]}
    return write_atomically(user_path(folder) / "sweep.json", json.dumps(content, indent=2).encode())
