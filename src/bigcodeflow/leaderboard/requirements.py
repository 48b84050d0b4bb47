"""What a run's score must be before it is shown beside others."""

import csv
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from bigcodeflow.core.paths import shipped
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS, hard_task_ids
from bigcodeflow.results.formatting import overall
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import RecordedRun, split_mismatch

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
    if control := evidence.run.control:
        yield Shortcoming(f"its samples are the {control} control, no model's answers", "name a run of a model")
    if mismatch := split_mismatch(evidence.run):
        # Its score is that of answers to other prompts, and nothing allows it.
        yield Shortcoming(mismatch, "run it again, which asks its model for what is missing")
    yield from _missing_tasks(evidence)
    score = evidence.score
    if score is None or math.isnan(score["value"]):
        yield Shortcoming(
            "it has no calibrated pass@1",
            "run it again with execution.variants including calibrated and aggregation.k including 1",
        )
    if count := evidence.count("infra_error_count"):
        problem = f"it is provisional, {count:,} of its samples were not judged"
        yield Shortcoming(problem, "run it again; only those are executed")
    if count := evidence.count("excluded_task_count"):
        remedy = "run it again with execution.quarantine=flag; nothing is executed anew"
        yield Shortcoming(f"its score leaves out {count:,} quarantined tasks", remedy)
    yield from _poor_environment(evidence)
    if other := other_tests(evidence.tasks):
        named = ", ".join(other[:_SHOWN_IDS]) + (" …" if len(other) > _SHOWN_IDS else "")
        problem = f"the tests of {len(other):,} tasks are not those of v0.1.4 ({named})"
        yield Shortcoming(problem, "run it on bigcode/bigcodebench@v0.1.4", Allowance.tests)


def _missing_tasks(evidence: Evidence) -> Iterator[Shortcoming]:
    subset = evidence.run.subset
    wanted = hard_task_ids() if subset == "hard" else BIGCODEBENCH_IDS
    given = {task["task_id"] for task in evidence.tasks}
    if given != wanted:
        foreign = len(given - wanted)
        others = f"and {foreign:,} others" if foreign else "only"
        yield Shortcoming(
            f"it has {len(given & wanted):,} of the {len(wanted):,} tasks of BigCodeBench {subset} {others}",
            "run it over the whole subset, without ids, libraries or domains; what was judged stays judged",
        )


def _poor_environment(evidence: Evidence) -> Iterator[Shortcoming]:
    rate = evidence.ground_truth_rate
    if rate is None:
        yield Shortcoming(
            "it is not known how many ground truths pass where it was executed",
            "import it again with its own pass_at_k.json beside it, if that tells, or judge its samples here",
            Allowance.ground_truth,
        )
    elif rate < LEAST_GROUND_TRUTH_RATE:
        yield Shortcoming(
            f"only {100 * rate:.1f} % of the ground truths pass where it was executed, and "
            f"{100 * LEAST_GROUND_TRUTH_RATE:.0f} % are wanted",
            "see `bigcodeflow env check`, mend the environment and run it again",
            Allowance.ground_truth,
        )


def other_tests(tasks: Iterable[Mapping[str, str]]) -> list[str]:
    """Ids of the tasks whose test is another one than v0.1.4's, as far as its hash is known (1,133 of 1,140 tasks).

    Args:
        tasks: rows with 'task_id' and 'test'.
    """
    known = _test_hashes()
    found = ((task["task_id"], sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()) for task in tasks)
    return [task_id for task_id, digest in found if known.get(task_id, digest) != digest]


@functools.cache
def _test_hashes() -> Mapping[str, str]:
    with shipped("data/bigcodebench/durations.csv").open(newline="") as file:
        return {row["task_id"]: row["test_sha256"] for row in csv.DictReader(file)}
