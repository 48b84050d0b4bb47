"""Plans of executions: canonical solutions of tasks, samples, and the programs that check passing samples."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.calibration import calibrate, executed_program, stub_program
from bigcodeflow.core.tracebacks import failed_import
from bigcodeflow.execution.costs import Cost, cost_of, fact_of
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.failure_kinds import setup_names
from bigcodeflow.judge.integrity.contradictions import Reference
from bigcodeflow.judge.items import ANY_IMPORT, Origin, WorkItem, scaled_limit, work_item
from bigcodeflow.judge.verdicts import Verdict, renewed
from bigcodeflow.judge.zygote_plan import imported_modules

#: CPU time that is expected of a test of unknown cost.
_UNKNOWN_CPU_SECONDS = 0.2
#: Columns of the ground truths that are read before solutions are executed.
GROUND_TRUTH_COLUMNS = ("task_id", "status", "wall_seconds", "max_rss_mib", "cpu_seconds", "module_trace", "tests")


@dataclass(frozen=True, slots=True)
class Planned:
    """Future row of the VERDICTS table: ``item`` gives its verdict, and ``item.origin`` names its sample."""

    item: WorkItem
    sanitizer: str
    blocked_by: str = ""
    """Reason why the item is not executed; empty if it is executed."""
    blocked_kind: str = "safety_policy"
    """Failure kind of the row if the item is not executed."""


def plan_ground_truths(
    tasks: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
    costs: Mapping[str, Cost] = MappingProxyType({}),
) -> list[Planned]:
    """Plan the canonical solutions of TASKS rows, one calibrated sample per task; ``costs``: known costs by task_id."""
    item_of = partial(_item, costs=costs, config=config, environment=environment)
    return [
        Planned(item_of(_own_program(task), task, ANY_IMPORT, Origin(task["task_id"], "calibrated", 0)), "none")
        for task in tasks.to_pylist()
    ]


class Planner:
    """Planner of executions of samples, and of checks of passing samples; it uses the ground truths known so far.

    Ground truths give the expected costs, the imports that fail in this environment for any program, and the tasks
    whose passes can be checked.
    """

    def __init__(
        self,
        tasks: pa.Table,
        ground_truth: pa.Table | None = None,
        *,
        config: ExecutionConfig,
        environment: Environment,
    ) -> None:
        """Take TASKS rows, and verdicts of ground truths (GROUND_TRUTH_COLUMNS); None: no ground truth is known yet."""
        self._tasks = {task["task_id"]: task for task in tasks.to_pylist()}
        self._config = config
        self.truths: dict[str, Verdict] = {}
        """Verdicts of ground truths by task_id."""
        self._costs: dict[str, Cost] = {}
        self._references: dict[str, Reference] = {}
        self._item = partial(_item, costs=self._costs, config=config, environment=environment)
        self.learn(ground_truth.to_pylist() if ground_truth is not None else ())

    @property
    def task_ids(self) -> Collection[str]:
        return self._tasks.keys()

    def learn(self, truths: Iterable[Verdict]) -> None:
        """Add verdicts of ground truths, with their task_id."""
        for row in truths:
            self.truths[row["task_id"]] = row
            if cost := cost_of(row):
                self._costs[row["task_id"]] = cost

    def can_plan(self, task_id: str) -> bool:
        """Return False while the task's time limit is scaled from its ground truth and the ground truth is unknown."""
        is_scaled = self._config.limits.time_policy == "scaled"
        return not is_scaled or task_id in self.truths or fact_of(self._tasks[task_id]) is not None

    def samples(self, solutions: pa.Table) -> list[Planned]:
        """Plan every solution in every variant of the configuration, in the order of the SOLUTIONS rows."""
        planned = []
        for row in solutions.to_pylist():
            task_id, reason, kind = row["task_id"], "", "safety_policy"
            task, missing = self._tasks[task_id], self._missing_imports(task_id)
            if row["blocked"]:
                first = row["findings"][0] if row["findings"] else {"rule": "safety", "line": 0, "detail": "blocked"}
                reason = f"blocked by the safety policy: {first['rule']} in line {first['line']}: {first['detail']}"
                if first["rule"] == "unanswered":  # a test that accepts a stub would pass the empty program
                    reason, kind = str(first["detail"]), "unanswered"
            for variant in self._config.variants:
                program = executed_program(code_prompt=task["code_prompt"], solution=row["solution"], variant=variant)
                origin = Origin(task_id, variant, row["sample_index"])
                item = self._item(program, task, missing, origin, is_sample=True)
                planned.append(Planned(item, row["sanitizer"], reason, kind))
        return planned

    def awaits_truth(self, plan: Planned) -> bool:
        """Return True if a sample has the same execution as its task's ground truth, whose verdict is not known yet."""
        task_id = plan.item.origin.task_id
        task = self._tasks[task_id]
        if task_id in self.truths or plan.item.program != _own_program(task):
            return False
        own = self._item(plan.item.program, task, ANY_IMPORT, plan.item.origin)
        return own.verdict_key == plan.item.verdict_key

    def reference(self, task_id: str, *, is_early: bool = False) -> Reference | None:
        """Return the data for checks of passing samples; None if the task's ground truth failed or is unknown.

        If ``is_early``, return the data even if the ground truth is unknown; the tests' ``seconds`` are then empty.
        """
        task, truth = self._tasks[task_id], self.truths.get(task_id)
        if truth["status"] != "pass" if truth else not is_early:
            return None
        if task_id in self._references:
            return self._references[task_id]

        def item_of(program: str | None, test: str) -> WorkItem:
            own = _own_program(task) if program is None else program
            return self._item(own, task, frozenset(), Origin(task_id), test=test)

        seconds = [test["seconds"] for test in truth["tests"]] if truth else ()
        reference = Reference(task, item_of, stub_program(task["code_prompt"]), seconds)
        return self._references.setdefault(task_id, reference) if truth else reference

    def references(self) -> dict[str, Reference]:
        """Return the `reference` of each task whose ground truth passes in this environment, by task_id."""
        found = {task_id: self.reference(task_id) for task_id in self._tasks}
        return {task_id: reference for task_id, reference in found.items() if reference}

    def renewed(self, verdict: Verdict, plan: Planned) -> Verdict:
        """Return a sample's verdict; correct it if a ground truth that came later shows that imports fail here."""
        missing = self._missing_imports(plan.item.origin.task_id)
        return renewed(verdict, replace(plan.item, missing_imports=missing)) if missing else verdict

    def _missing_imports(self, task_id: str) -> frozenset[str]:
        """Return the imports that failed in the task's ground truth; if its status is infra_error, add its libraries.

        A ground truth with infra_error ended at the first library that the environment lacks. Other libraries may be
        missing too, and a solution may import them first.
        """
        task, truth = self._tasks[task_id], self.truths.get(task_id)
        if truth is None:
            return frozenset()
        traces = [truth["module_trace"], *(test["trace"] for test in truth["tests"])]
        failed = frozenset(map(failed_import, filter(None, traces))) - {""}
        if truth["status"] == "infra_error":
            failed |= imported_modules(_own_program(task), task["test"]) - sys.stdlib_module_names
        return failed


def planned_in_parts(
    planner: Planner, solutions: Iterable[pa.Table | None], truths: Iterable[list[Verdict] | None]
) -> Iterator[list[Planned] | None]:
    """Yield planned rows as solutions and ground truths arrive; None, in inputs and output, means nothing new."""
    waiting: list[pa.Table] = []
    for table, rows in zip_longest(solutions, truths):
        planner.learn(rows or ())
        waiting += [] if table is None else [table]
        if table is None and not rows:
            yield None
            continue
        planned = []
        for number, one in enumerate(waiting):
            ready = pa.array(map(planner.can_plan, map(str, one["task_id"].to_pylist())), pa.bool_())
            planned += planner.samples(one.filter(ready))
            waiting[number] = one.filter(pc.invert(ready))
        waiting = [one for one in waiting if one.num_rows]
        yield planned or None


def _item(
    program: str,
    task: dict[str, Any],
    missing_imports: frozenset[str],
    origin: Origin,
    *,
    costs: Mapping[str, Cost],
    config: ExecutionConfig,
    environment: Environment,
    test: str = "",
    is_sample: bool = False,
) -> WorkItem:
    # The cost of the task's own test, also for an altered test. Shipped facts give the same key on every machine.
    fact = fact_of(task)
    cost = costs.get(task["task_id"]) or fact or Cost()
    reference = fact or cost
    item = work_item(
        program=program,
        task=task | {"test": test} if test else task,
        missing_imports=missing_imports,
        environment_sha=environment.environment_sha,
        limits=config.limits,
        allow_unisolated=config.allow_unisolated,
        ground_truth_cpu_seconds=fact.cpu_seconds if fact else 0.0,
        reference_seconds=max(reference.seconds, reference.cpu_seconds) if is_sample and reference.cpu_seconds else 0.0,
        fail_fast=is_sample and config.fail_fast,
    )
    return replace(
        item,
        expected_seconds=cost.seconds,
        expected_cpu_seconds=cost.cpu_seconds or min(cost.seconds, _UNKNOWN_CPU_SECONDS),
        expected_memory_mib=cost.memory_mib,
        long_after_seconds=scaled_limit(cost.cpu_seconds),
        setup_names=setup_names(task["code_prompt"]),
        origin=origin,
    )


def _own_program(task: dict[str, Any]) -> str:
    return calibrate(task["code_prompt"], task["complete_prompt"] + task["canonical_solution"])
