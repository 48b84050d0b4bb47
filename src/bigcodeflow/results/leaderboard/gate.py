"""What a run's score must be before it is shown beside others."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from bigcodeflow.results.leaderboard import benchmark
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow.results.splits import split_mismatch
from bigcodeflow.results.wording import overall

#: The least share of ground truths that pass. A task that its own solution cannot pass is lost to every model, so a
#: score may be too low by as many points as the rate lacks. 2 points stay below the half-width of the 95 % interval
#: of 1,140 tasks (2.9 points at a score of one half); sound environments reach 99.5 to 99.7 %.
LEAST_GROUND_TRUTH_RATE = 0.98
_SHOWN_IDS = 3


class Allowance(StrEnum):
    """A shortcoming that may be published on purpose; the entry then says so."""

    ground_truth = "ground-truth"
    tests = "tests"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run has to show."""

    run: RecordedRun
    metrics: Sequence[Row]
    """Rows of its METRICS table."""
    tasks: Sequence[Mapping[str, str]]
    """Its tasks: rows with 'task_id' and 'test'."""

    @property
    def score(self) -> Row | None:
        """The row of calibrated pass@1."""
        rows = overall(self.metrics, "pass@k")
        return next((row for row in rows if (row["variant"], row["k"]) == ("calibrated", 1)), None)

    @property
    def ground_truth_rate(self) -> float | None:
        """Share of tasks whose own solution passes; None where it is unknown."""
        row = next(overall(self.metrics, "ground_truth_rate"), None)
        return None if row is None or math.isnan(row["value"]) else float(row["value"])

    def count(self, metric: str) -> int:
        """A count of the calibrated variant; 0 where there is no such row."""
        return int(sum(row["value"] for row in overall(self.metrics, metric) if row["variant"] == "calibrated"))


class Shortcoming(NamedTuple):
    """Why a score is refused."""

    problem: str
    remedy: str
    allowance: Allowance | None = None
    """What allows it; None: nothing does."""

    def __str__(self) -> str:
        allowed = f", or pass --allow {self.allowance}" if self.allowance else ""
        return f"{self.problem}: {self.remedy}{allowed}"


def shortcomings(evidence: Evidence) -> Iterator[Shortcoming]:
    """Everything that is wrong with a run's score, the worst first."""
    for check in _CHECKS:
        found = check(evidence)
        if found:
            yield found


def _is_a_control(evidence: Evidence) -> Shortcoming | None:
    control = evidence.run.control
    if not control:
        return None
    return Shortcoming(f"its samples are the {control} control, no model's answers", "name a run of a model")


def _is_of_another_split(evidence: Evidence) -> Shortcoming | None:
    """Its score is that of answers to other prompts, and nothing allows it."""
    mismatch = split_mismatch(evidence.run)
    return Shortcoming(mismatch, "run it again, which asks its model for what is missing") if mismatch else None


def _is_incomplete(evidence: Evidence) -> Shortcoming | None:
    subset = evidence.run.subset
    wanted = benchmark.task_ids("hard" if subset == "hard" else "full")
    given = {task["task_id"] for task in evidence.tasks}
    if given == wanted:
        return None
    foreign = len(given - wanted)
    told = f"and {foreign:,} others" if foreign else "only"
    return Shortcoming(
        f"it has {len(given & wanted):,} of the {len(wanted):,} tasks of BigCodeBench {subset} {told}",
        "run it over the whole subset, without ids, libraries or domains; what was judged stays judged",
    )


def _has_no_score(evidence: Evidence) -> Shortcoming | None:
    score = evidence.score
    if score is not None and not math.isnan(score["value"]):
        return None
    return Shortcoming(
        "it has no calibrated pass@1",
        "run it again with execution.variants including calibrated and aggregation.k including 1",
    )


def _has_infra_errors(evidence: Evidence) -> Shortcoming | None:
    count = evidence.count("infra_error_count")
    if not count:
        return None
    return Shortcoming(
        f"it is provisional, {count:,} of its samples were not judged", "run it again; only those are executed"
    )


def _excludes_tasks(evidence: Evidence) -> Shortcoming | None:
    count = evidence.count("excluded_task_count")
    if not count:
        return None
    return Shortcoming(
        f"its score leaves out {count:,} quarantined tasks",
        "run it again with execution.quarantine=flag; nothing is executed anew",
    )


def _has_a_poor_environment(evidence: Evidence) -> Shortcoming | None:
    rate = evidence.ground_truth_rate
    if rate is None:
        return Shortcoming(
            "it is not known how many ground truths pass where it was executed",
            "import it again with its own pass_at_k.json beside it, if that tells, or judge its samples here",
            Allowance.ground_truth,
        )
    if rate >= LEAST_GROUND_TRUTH_RATE:
        return None
    return Shortcoming(
        f"only {100 * rate:.1f} % of the ground truths pass where it was executed, and "
        f"{100 * LEAST_GROUND_TRUTH_RATE:.0f} % are wanted",
        "see `bigcodeflow env check`, mend the environment and run it again",
        Allowance.ground_truth,
    )


def _has_other_tests(evidence: Evidence) -> Shortcoming | None:
    other = benchmark.other_tests(evidence.tasks)
    if not other:
        return None
    named = ", ".join(other[:_SHOWN_IDS]) + (" …" if len(other) > _SHOWN_IDS else "")
    return Shortcoming(
        f"the tests of {len(other):,} tasks are not those of v0.1.4 ({named})",
        "run it on bigcode/bigcodebench@v0.1.4",
        Allowance.tests,
    )


#: An incomplete run lacks a score for a reason that is told by the first.
_CHECKS: tuple[Callable[[Evidence], Shortcoming | None], ...] = (
    _is_a_control,
    _is_of_another_split,
    _is_incomplete,
    _has_no_score,
    _has_infra_errors,
    _excludes_tasks,
    _has_a_poor_environment,
    _has_other_tests,
)
