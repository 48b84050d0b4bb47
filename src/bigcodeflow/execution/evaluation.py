"""From solutions to verdicts: plans executions, reuses known verdicts, and makes the VERDICTS table."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.calibration import calibrate, executed_program, stub_program
from bigcodeflow.core.progress import Status
from bigcodeflow.core.schemas import VERDICTS, table_of
from bigcodeflow.core.tracebacks import failed_import
from bigcodeflow.execution.costs import Cost, Expectations, expectations, fact_of
from bigcodeflow.execution.engine import Engine, Progress
from bigcodeflow.execution.ledger import find_in_ledgers
from bigcodeflow.execution.reruns import ONCE, RerunPolicy, disputed_keys
from bigcodeflow.execution.stored_contradictions import StoredContradictions
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.failure_kinds import setup_names
from bigcodeflow.judge.integrity import checks
from bigcodeflow.judge.integrity.contradictions import (
    FORMS,
    Contradictions,
    Execute,
    Reference,
    validated_variants,
)
from bigcodeflow.judge.items import ANY_IMPORT, Origin, WorkItem, scaled_limit, work_item
from bigcodeflow.judge.verdicts import Verdict, blocked_verdict, renewed
from bigcodeflow.judge.zygote_plan import imported_modules
from bigcodeflow.store import LogFiles, Store

StatusProgress = Callable[[int, int, str, Status], None]
"""Called with finished and total executions, a remark, and the status of running executions."""

#: Columns of the ground truths that are read before solutions are executed.
GROUND_TRUTH_COLUMNS = ("task_id", "status", "wall_seconds", "max_rss_mib", "cpu_seconds", "module_trace", "tests")


@dataclass(frozen=True, slots=True)
class Planned:
    """A planned row of the verdicts table: the sample, and the execution that gives its verdict."""

    task_id: str
    sample_index: int
    variant: str
    sanitizer: str
    item: WorkItem
    blocked_by: str = ""
    """Reason why it is not executed; empty if it is executed."""
    blocked_kind: str = "safety_policy"
    """Failure kind if it is not executed."""


def plan_ground_truths(
    tasks: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
    costs: Mapping[str, Cost] = MappingProxyType({}),
) -> list[Planned]:
    """Plan the canonical solutions of TASKS rows, one calibrated sample per task; ``costs``: known costs by task_id."""
    item_of = partial(_item, costs=expectations(costs), config=config, environment=environment)
    return [
        Planned(
            task["task_id"],
            0,
            "calibrated",
            "none",
            item_of(_own_program(task), task, ANY_IMPORT, Origin(task["task_id"], "calibrated", 0)),
        )
        for task in tasks.to_pylist()
    ]


def plan_solutions(
    solutions: pa.Table, tasks: pa.Table, ground_truth: pa.Table, *, config: ExecutionConfig, environment: Environment
) -> list[Planned]:
    """Plan every solution in every variant of the configuration, in the order of the solutions.

    Args:
        solutions: rows of SOLUTIONS; tasks: rows of TASKS.
        ground_truth: columns GROUND_TRUTH_COLUMNS of the ground truths: they give the expected durations, and the
            imports that fail in this environment for any program.
    """
    by_id = {task["task_id"]: task for task in tasks.to_pylist()}
    missing = {row["task_id"]: _missing_imports(row, by_id) for row in ground_truth.to_pylist()}
    item_of = partial(_item, costs=expectations(ground_truth=ground_truth), config=config, environment=environment)
    item_of = partial(item_of, is_sample=True)
    planned = []
    for row in solutions.to_pylist():
        task, sanitizer, reason, kind = by_id[row["task_id"]], row["sanitizer"], "", "safety_policy"
        if row["blocked"]:
            first = row["findings"][0] if row["findings"] else {"rule": "safety", "line": 0, "detail": "blocked"}
            reason = f"blocked by the safety policy: {first['rule']} in line {first['line']}: {first['detail']}"
            if first["rule"] == "unanswered":  # a test that accepts a stub would pass the empty program
                reason, kind = str(first["detail"]), "unanswered"
        for variant in config.variants:
            program = executed_program(code_prompt=task["code_prompt"], solution=row["solution"], variant=variant)
            origin = Origin(row["task_id"], variant, row["sample_index"])
            item = item_of(program, task, missing.get(row["task_id"], frozenset()), origin)
            planned.append(Planned(row["task_id"], row["sample_index"], variant, sanitizer, item, reason, kind))
    return planned


def plan_references(
    tasks: pa.Table, ground_truth: pa.Table, *, config: ExecutionConfig, environment: Environment
) -> dict[str, Reference]:
    """Return references, which checks of passes need, by task_id, for tasks whose own solution passes here."""
    make = partial(_item, costs=expectations(ground_truth=ground_truth), config=config, environment=environment)
    passing = ground_truth.filter(pc.field("status") == "pass").to_pylist()
    seconds = {row["task_id"]: [test["seconds"] for test in row["tests"]] for row in passing}

    def item_of(task: dict[str, Any], program: str | None, test: str) -> WorkItem:
        own = _own_program(task) if program is None else program
        return make(own, task, frozenset(), Origin(task["task_id"]), test=test)

    return {
        task_id: Reference(task, partial(item_of, task), stub_program(task["code_prompt"]), seconds[task_id])
        for task in tasks.to_pylist()
        if (task_id := task["task_id"]) in seconds
    }


def _item(
    program: str,
    task: dict[str, Any],
    missing_imports: frozenset[str],
    origin: Origin,
    *,
    costs: Expectations,
    config: ExecutionConfig,
    environment: Environment,
    test: str = "",
    is_sample: bool = False,
) -> WorkItem:
    cost, fact = costs(task), fact_of(task)  # for the task's own test, whichever test text is executed
    reference = fact or cost  # shipped facts give the same key on every machine
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
        expected_memory_mib=cost.memory_mib,
        long_after_seconds=scaled_limit(cost.cpu_seconds),
        setup_names=setup_names(task["code_prompt"]),
        origin=origin,
    )


class Checking(NamedTuple):
    """Data for the checks of passing samples: references by task_id, and known results of altered tests."""

    references: Mapping[str, Reference]
    known: Contradictions


def judge(
    chunks: Iterable[Sequence[Planned] | None],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    known: Callable[[Collection[str]], list[Verdict]] | None = None,
    other_ledgers: Sequence[Path] = (),
    policy: RerunPolicy = ONCE,
    checking: Checking | None = None,
    workers: Workers | None = None,
    progress: StatusProgress | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Execute items without a known verdict, and return the VERDICTS table and the counts of the stage.

    Args:
        chunks: planned rows, as they become known; the last chunk holds all rows. None means that nothing is new.
            With reruns, pass a single chunk, because the choice of reruns depends on all earlier verdicts.
        ledger_folder: durable verdicts of this stage, from this and from interrupted runs.
        known: function that returns published VERDICTS rows by key, such as `VerdictIndex.verdicts`; None: no rows.
        other_ledgers: ledgers of other unfinished runs, read only.
        checking: data for the checks of passing samples; None: they are not checked.
        workers: workers of the run; None: the stage starts its own workers.
    """

    def report(finished: int, total: int) -> None:
        if progress:
            progress(finished, total, "", engine.status())

    with Engine(config, environment, ledger_folder, workers=workers, progress=report) as engine:
        found = _Verdicts(engine, known, other_ledgers, policy, checking)
        rows = checking.known if checking else StoredContradictions(None, environment.environment_sha)
        check = partial(checks.check_passes, known=rows, execute=engine.verdicts, earlier=found.earlier)
        with checks.CheckQueue(check, stop=engine.stop) as queue:
            open_items = found.open_items(chunks, queue)
            first = next(open_items)
            for verdict in engine.stream(chain([first], open_items), found.policy):
                found.add(verdict, queue)
        counts = found.counts | engine.counts(found.items.keys())
    verdicts = checks.applied(found.verdicts, queue.results)
    blocked = partial(blocked_verdict, backend=config.backend, environment_sha=environment.environment_sha)
    lines = (
        (blocked(plan.item, plan.blocked_by, plan.blocked_kind) if plan.blocked_by else verdicts[plan.item.verdict_key])
        | {name: getattr(plan, name) for name in ("task_id", "sample_index", "variant", "sanitizer")}
        for plan in found.planned
    )
    table = table_of(lines, schema=VERDICTS)
    unjudged = table.filter(pc.field("status") == "infra_error").num_rows
    # A pass whose check did not finish is not a verdict yet.
    unchecked = table.filter(pc.field("integrity") == checks.UNCHECKED).num_rows
    counts = counts | {"infra_errors": unjudged + unchecked}
    return table, counts | {"unchecked_passes": unchecked} if unchecked else counts


@dataclass
class _Verdicts:
    """Verdicts of a stage, collected while it runs."""

    engine: Engine
    known: Callable[[Collection[str]], list[Verdict]] | None
    other_ledgers: Sequence[Path]
    policy: RerunPolicy
    checking: Checking | None
    planned: Sequence[Planned] = ()
    """The last chunk."""
    items: dict[str, WorkItem] = field(default_factory=dict)
    """Distinct executions, by key."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    earlier: dict[str, checks.CheckResult] = field(default_factory=dict)
    """Check results from published verdicts, by the check's key."""
    reused: int = 0
    _passes: dict[str, checks.Pass] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        return {"distinct_executions": len(self.items), "reused_verdicts": self.reused}

    def add(self, verdict: Verdict, queue: checks.CheckQueue) -> None:
        """Store a verdict; queue it for a check if it is a pass of a task whose own solution passes."""
        self.verdicts[verdict["verdict_key"]] = verdict
        if verdict["status"] == "pass" and (passed := self._passes.get(verdict["verdict_key"])):
            queue.put(passed)

    def open_items(
        self, chunks: Iterable[Sequence[Planned] | None], queue: checks.CheckQueue
    ) -> Iterator[list[WorkItem] | None]:
        """Yield the items of each chunk that have no verdict yet; add the known verdicts."""
        references = self.checking.references if self.checking else {}
        for chunk in chunks:
            if chunk is None:
                yield None
                continue
            self.planned = chunk
            new = {plan.item.verdict_key: plan for plan in chunk if not plan.blocked_by}
            new = {key: plan for key, plan in new.items() if key not in self.items}
            items = {key: plan.item for key, plan in new.items()}
            self.items |= items
            passes = {key: (plan.item, references.get(plan.task_id)) for key, plan in new.items()}
            self._passes |= {key: checks.Pass(item, found) for key, (item, found) in passes.items() if found}
            known = self._find(items)
            self.engine.skip(len(known))
            for verdict in known.values():
                self.add(verdict, queue)
            yield [item for key, item in items.items() if key not in known]

    def _find(self, items: Mapping[str, WorkItem]) -> dict[str, Verdict]:
        """Return the known verdicts: from published stages, other unfinished stages, and this stage."""
        published = self.known(items.keys()) if self.known else []
        published = [renewed(row, items[row["verdict_key"]]) for row in published]
        self.earlier |= checks.findings_of(published)
        published = [checks.unchecked(row) for row in published]
        others = find_in_ledgers(self.other_ledgers, items.keys())
        unpublished = [renewed(line, items[line["verdict_key"]]) for line in others]
        if self.policy.reruns:
            self.policy = replace(self.policy, disputed=disputed_keys([*published, *unpublished]))
        verdicts = {row["verdict_key"]: row for row in published if self.policy.answers(row)}
        self.reused += len(verdicts)
        verdicts = {line["verdict_key"]: line for line in unpublished if self.policy.answers(line)} | verdicts
        return verdicts | self.engine.settled(items.values(), self.policy)


def contradiction_coverage(
    tasks: pa.Table,
    ground_truth: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
    store: Store,
    progress: Progress | None = None,
) -> list[checks.Coverage]:
    """Count the test methods that can be contradicted, for each task whose own solution passes.

    Reuses known results. The store keeps the results, and the ledger until the work is finished.
    """
    references = plan_references(tasks, ground_truth, config=config, environment=environment)
    with _contradicting(references.keys(), config, environment, store, progress) as (known, execute):
        return checks.coverage(references.values(), known, execute)


def undetected_contradictions(
    tasks: pa.Table,
    ground_truth: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
    store: Store,
    progress: Progress | None = None,
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return task id and alteration (see ALTERATION) of contradictions that a task's own solution did not always fail.

    Covers tasks whose own solution passes; reuses known results.
    """
    references = plan_references(tasks, ground_truth, config=config, environment=environment)
    wanted = [(reference, number) for reference in references.values() for number in range(0, 2 * FORMS, 2)]
    with _contradicting(references.keys(), config, environment, store, progress) as (known, execute):
        variants = validated_variants(wanted, known, execute)
    return [
        (task_id, one)
        for (task_id, _), variant in variants.items()
        for one in known.by_key.get(variant.item.verdict_key, {}).get("alterations", ())
        if one["kind"] == "contradiction" and not one["valid"]
    ]


@contextmanager
def _contradicting(
    task_ids: Collection[str],
    config: ExecutionConfig,
    environment: Environment,
    store: Store,
    progress: Progress | None,
) -> Iterator[tuple[Contradictions, Execute]]:
    """Yield the environment's known contradictions and a function that executes items; then delete its ledger."""
    ledger_folder = store.workspace("contradictions", environment.environment_sha)
    with (
        store.synchronized(ledger_folder, LogFiles.VERDICTS),
        Engine(config, environment, ledger_folder, progress=progress) as engine,
    ):
        yield StoredContradictions(store, environment.environment_sha, task_ids), engine.verdicts
    store.discard(ledger_folder)


def _missing_imports(truth: dict[str, Any], tasks: Mapping[str, dict[str, Any]]) -> frozenset[str]:
    """Return the imports that fail in the task's own solution; after an infra_error, add all its libraries.

    The ground truth ends at the first library that the environment lacks, but a solution may import such libraries in
    another order.
    """
    traces = [truth["module_trace"], *(test["trace"] for test in truth["tests"])]
    failed = frozenset(map(failed_import, traces)) - {""}
    task = tasks.get(truth["task_id"])
    if task is not None and truth["status"] == "infra_error":
        failed |= imported_modules(_own_program(task), task["test"]) - sys.stdlib_module_names
    return failed


def _own_program(task: dict[str, Any]) -> str:
    return calibrate(task["code_prompt"], task["complete_prompt"] + task["canonical_solution"])
