"""Make the VERDICTS table of planned executions: reuse known verdicts, execute the rest, and check passing samples."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.progress import Status
from bigcodeflow.core.schemas import VERDICTS, table_of
from bigcodeflow.execution.costs import waits_long, work_seconds
from bigcodeflow.execution.engine import Engine, Progress
from bigcodeflow.execution.ledger import CHECK_COLUMNS, find_in_ledgers
from bigcodeflow.execution.planning import Planned, Planner
from bigcodeflow.execution.reruns import ONCE, RerunPolicy, disputed_keys
from bigcodeflow.execution.stored_contradictions import StoredContradictions
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.integrity import checks
from bigcodeflow.judge.integrity.contradictions import BUDGET_SHARE, Contradictions, Execute, Reference
from bigcodeflow.judge.items import Origin, WorkItem
from bigcodeflow.judge.verdicts import Verdict, blocked_verdict, renewed
from bigcodeflow.store import LogFiles, Store

StatusProgress = Callable[[int, int, str, Status], None]
"""Callback that gets the numbers of finished and of all rows, a remark, and the status of running executions."""

_POLL_SECONDS = 0.5
#: Seconds that a sample has run before its check may begin: most programs that fail at once have ended by then.
_EARLY_AFTER_SECONDS = 10.0
#: Expected work of a check, as a multiple of its program's work, and the work after which the measured ratio counts.
_CHECK_RATIO, _RATIO_KNOWN_AFTER_SECONDS = 2.0, 10.0


@dataclass
class KnownVerdicts:
    """Verdicts, and results of integrity checks, from earlier runs."""

    published: Callable[[Collection[str]], list[Verdict]] | None
    """Function that returns the published VERDICTS rows with the given keys; None: no rows are published."""
    other_ledgers: Sequence[Path]
    """Ledgers of other unfinished runs, read only."""
    policy: RerunPolicy
    reused: int = 0
    """Number of published verdicts that were used."""
    checked: dict[str, checks.CheckResult] = field(default_factory=dict)
    """Results of integrity checks, by the check's key."""

    def find(self, items: Mapping[str, WorkItem], engine: Engine) -> dict[str, Verdict]:
        """Return known verdicts of ``items`` by verdict key, from artifacts and from ledgers of unfinished stages."""
        published = self.published(items.keys()) if self.published else []
        published = [renewed(row, items[row["verdict_key"]]) for row in published]
        self.checked |= checks.findings_of(published)
        published = [checks.unchecked(row) for row in published]
        others = find_in_ledgers(self.other_ledgers, items.keys())
        unpublished = [renewed(line, items[line["verdict_key"]]) for line in others]
        if self.policy.reruns:
            self.policy = replace(self.policy, disputed=disputed_keys([*published, *unpublished]))
        verdicts = {row["verdict_key"]: row for row in published if self.policy.answers(row)}
        self.reused += len(verdicts)
        verdicts = {line["verdict_key"]: line for line in unpublished if self.policy.answers(line)} | verdicts
        return verdicts | engine.settled(items.values(), self.policy)


class JudgedRows:
    """Planned rows and their verdicts; samples that pass are checked once the ground truth of their task is known."""

    def __init__(
        self,
        engine: Engine,
        known: KnownVerdicts,
        planner: Planner | None,
        texts: Contradictions | None,
        *,
        expected_rows: int,
        on_verdict: Callable[[Verdict], None] | None,
    ) -> None:
        """Read the results of finished checks from the engine's ledger; see `judge` for the arguments."""
        self._engine, self._known, self._planner = engine, known, planner
        self._expected_rows, self._on_verdict = expected_rows, on_verdict
        known.checked |= checks.findings_of(engine.ledger.checks())
        engine.forecast.check_share = BUDGET_SHARE if texts else 0.0
        self._checks = checks.Checks(texts, known.checked, on_result=self._end_check) if texts else None
        self.planned: Sequence[Planned] = ()
        """Rows of the latest chunk."""
        self.items: dict[str, WorkItem] = {}
        """Distinct items to execute, by verdict key."""
        self.finished = 0
        """Number of rows whose verdict is final."""
        self.outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Number of rows with a final verdict, by variant and failure kind ('' for a pass)."""
        self._seen: set[Origin] = set()
        self._rows: dict[str, list[Planned]] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._passes: dict[str, list[str]] = {}  # keys of passing items whose check has not begun, by task
        self._same: dict[str, WorkItem] = {}  # items by task that wait for the verdict of their ground truth
        self._waiting: dict[str, WorkItem] = {}  # open items that wait for a clock and whose check has not begun
        self._final: set[str] = set()
        self._is_complete = False  # True once no rows and no ground truths come any more
        self._sums: defaultdict[str, float] = defaultdict(float)

    @property
    def total(self) -> int:
        """Number of rows, as far as it is known."""
        return max(self._expected_rows, len(self._seen))

    def verdict(self, plan: Planned) -> Verdict:
        verdict = self._verdicts[plan.item.verdict_key]
        return self._planner.renewed(verdict, plan) if self._planner else verdict

    def arriving(self, chunks: Iterable[Sequence[Planned] | None]) -> Iterator[list[WorkItem] | None]:
        """Yield items to execute, for rows and checks, until all verdicts are final; yield None if no item is ready."""
        for chunk in chunks:
            items = self._accepted(chunk) if chunk is not None else []
            items += self._follow_ups()
            self._forecast()
            yield None if chunk is None and not items else items
        self._expected_rows, self._is_complete = len(self._seen), True
        while len(self._final) < len(self.items):
            items = self._follow_ups()
            self._forecast()
            yield items or None

    def receive(self, verdict: Verdict) -> None:
        """Accept the verdict of a planned row, or of an execution that a check requested."""
        key = verdict["verdict_key"]
        if key not in self.items:
            if self._checks:
                self._checks.receive(verdict)
            return
        self._verdicts[key] = verdict
        self._waiting.pop(key, None)
        self._sums["open"] -= work_seconds(self.items[key])
        if self._on_verdict:
            for plan in self._rows[key]:
                self._on_verdict(verdict | {"task_id": plan.item.origin.task_id})
        self._sums["verdicts"] += 1
        if verdict["status"] == "pass" and self._checks:
            self._sums["passes"] += 1
            self._sums["waiting"] += work_seconds(self.items[key])
            self._passes.setdefault(self.items[key].origin.task_id, []).append(key)
        else:
            self._end(key)

    def _accepted(self, chunk: Sequence[Planned]) -> list[WorkItem]:
        """Add the rows of a chunk and their known verdicts; return the items without a verdict."""
        self.planned, new = chunk, dict[str, WorkItem]()
        for plan in chunk:
            key = plan.item.verdict_key
            if plan.item.origin in self._seen:
                continue
            self._seen.add(plan.item.origin)
            if plan.blocked_by:
                self._finish(plan, plan.blocked_kind)
                continue
            if key in self._final:
                self._finish(plan, self._verdicts[key]["failure_kind"])
            self._rows.setdefault(key, []).append(plan)
            if key not in self.items:
                self.items[key] = new[key] = plan.item
                self._sums["open"] += work_seconds(plan.item)
        known = self._known.find(new, self._engine)
        for verdict in known.values():
            self.receive(verdict)
        self._engine.skip(len(known))
        todo = {key: item for key, item in new.items() if key not in known}
        for key, item in todo.items():
            if waits_long(item.expected_seconds, item.expected_cpu_seconds):
                self._waiting[key] = item
        same = [key for key in todo if self._planner and self._planner.awaits_truth(self._rows[key][0])]
        self._same |= {todo[key].origin.task_id: todo.pop(key) for key in same}
        return list(todo.values())

    def _follow_ups(self) -> list[WorkItem]:
        """Copy new ground truths to samples with equal executions, begin checks of passes; return items to execute."""
        if not self._planner:
            return []
        todo: list[WorkItem] = []
        for task_id in filter(self._is_settled, [*self._same]):
            item, truth = self._same.pop(task_id), self._planner.truths.get(task_id)
            if truth and self._known.policy.answers(truth):
                self._known.reused += 1
                self.receive(truth)
            else:
                todo.append(item)
        for task_id in filter(self._is_settled, [*self._passes]):
            reference = self._planner.reference(task_id)
            for key in self._passes.pop(task_id):
                self._sums["waiting"] -= work_seconds(self.items[key])
                if self._checks and reference:
                    self._sums["checked"] += work_seconds(self.items[key])
                    self._checks.put(checks.Pass(self.items[key], reference))
                else:
                    self._end(key)
        self._begin_early_checks(self._planner)
        # Items that checks ask for; the ledger may answer them.
        while self._checks and (items := self._checks.take()):
            self._sums["checks"] += sum(map(work_seconds, items))
            found = self._engine.settled(items)
            todo += [item for item in items if item.verdict_key not in found]
            for verdict in found.values():
                self._checks.receive(verdict)
        return todo

    def _begin_early_checks(self, planner: Planner) -> None:
        for key in [key for key in self._waiting if self._engine.seconds_running(key) > _EARLY_AFTER_SECONDS]:
            item = self._waiting.pop(key)
            reference = planner.reference(item.origin.task_id, is_early=True)
            if self._checks and reference:
                self._checks.begin_early(checks.Pass(item, reference))

    def _is_settled(self, task_id: str) -> bool:
        """Return True if the task's ground truth is known, or will never become known."""
        return self._is_complete or bool(self._planner and task_id in self._planner.truths)

    def _end_check(self, key: str, result: checks.CheckResult) -> None:
        self._verdicts |= checks.applied({key: self._verdicts[key]}, {key: result})
        if result.key and not result.instead and result.key not in self._known.checked:
            self._engine.ledger.append({name: self._verdicts[key][name] for name in CHECK_COLUMNS})
        self._end(key)

    def _end(self, key: str) -> None:
        self._final.add(key)
        for plan in self._rows[key]:
            self._finish(plan, self._verdicts[key]["failure_kind"])

    def _finish(self, plan: Planned, kind: str) -> None:
        self.finished += 1
        self.outcomes[plan.item.origin.variant][kind] += 1

    def _forecast(self) -> None:
        """Estimate the CPU seconds of checks that are not requested yet; store them in the engine's forecast."""
        if len(self._seen) < self._expected_rows:
            self._engine.forecast.later_seconds = None
            return
        sums, later_seconds = self._sums, 0.0
        if self._checks:
            prior = _RATIO_KNOWN_AFTER_SECONDS
            ratio = (sums["checks"] + _CHECK_RATIO * prior) / (sums["checked"] + prior)
            share = (sums["passes"] + 1) / (sums["verdicts"] + 2)
            later_seconds = ratio * (share * sums["open"] + sums["waiting"])
        self._engine.forecast.later_seconds = later_seconds


def judge(
    chunks: Iterable[Sequence[Planned] | None],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    expected_rows: int = 0,
    known: Callable[[Collection[str]], list[Verdict]] | None = None,
    other_ledgers: Sequence[Path] = (),
    policy: RerunPolicy = ONCE,
    planner: Planner | None = None,
    texts: Contradictions | None = None,
    workers: Workers | None = None,
    progress: StatusProgress | None = None,
    on_verdict: Callable[[Verdict], None] | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Execute items without a known verdict; return the VERDICTS table, and counts such as ``reused_verdicts``.

    Args:
        chunks: planned rows, as they become known; the last chunk holds all rows. None means that no row is new.
            With reruns, pass a single chunk, because the choice of reruns depends on all earlier verdicts.
        ledger_folder: folder of the ledger with verdicts of this stage, from this run and from interrupted runs.
        expected_rows: number of rows in the last chunk, for the progress; 0: unknown.
        known: function that returns published VERDICTS rows with given keys, as `VerdictIndex.verdicts`; None: no rows.
        other_ledgers: ledgers of other unfinished runs, read only.
        planner: planner of samples, with the ground truths; None: the rows are ground truths.
        texts: known altered texts of tests, for the checks of passing samples; None: passes are not checked.
        workers: workers of the run; None: the stage starts its own workers.
        on_verdict: receives the verdict of each row, with its task_id, as soon as it is known.
    """

    def report(*_: int) -> None:
        if progress:
            # Ground truths show no score; raw verdicts count only if there are no calibrated verdicts.
            outcomes = rows.outcomes.get("calibrated") or rows.outcomes.get("raw") if planner else None
            progress(rows.finished, rows.total, "", engine.status()._replace(outcomes=dict(outcomes or {})))

    with ExitStack() as held:
        if texts:
            held.callback(texts.write)
        engine = held.enter_context(Engine(config, environment, ledger_folder, workers=workers, progress=report))
        earlier = KnownVerdicts(known, other_ledgers, policy)
        rows = JudgedRows(engine, earlier, planner, texts, expected_rows=expected_rows, on_verdict=on_verdict)
        arriving = rows.arriving(chunks)
        first = next(arriving)
        while first is None and policy.reruns:  # the verdicts of all rows decide which are executed again
            time.sleep(_POLL_SECONDS)
            first = next(arriving)
        for verdict in engine.stream(chain([first], arriving), earlier.policy):
            rows.receive(verdict)
        report()  # the last check ends after its last execution was reported
        counts = {"distinct_executions": len(rows.items), "reused_verdicts": earlier.reused}
        counts |= engine.counts(rows.items.keys())
    table = _table(rows, config, environment)
    unjudged = table.filter(pc.field("status") == "infra_error").num_rows
    # A pass whose check did not finish is not a verdict yet.
    unchecked = table.filter(pc.field("integrity") == checks.UNCHECKED).num_rows
    counts["infra_errors"] = unjudged + unchecked
    return table, counts | ({"unchecked_passes": unchecked} if unchecked else {})


def _table(rows: JudgedRows, config: ExecutionConfig, environment: Environment) -> pa.Table:
    """Return the planned rows with their verdicts, or with the reason why they are not executed."""
    blocked = partial(blocked_verdict, backend=config.backend, environment_sha=environment.environment_sha)
    lines = (
        (blocked(plan.item, plan.blocked_by, plan.blocked_kind) if plan.blocked_by else rows.verdict(plan))
        | {"sanitizer": plan.sanitizer, **plan.item.origin._asdict()}
        for plan in rows.planned
    )
    return table_of(lines, schema=VERDICTS)


@contextmanager
def contradicting(
    tasks: pa.Table,
    ground_truth: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
    store: Store,
    progress: Progress | None = None,
) -> Iterator[tuple[Collection[Reference], Contradictions, Execute]]:
    """Yield references, contradictions and a function that executes items, for `contradictions.coverage` and the like.

    Only tasks with a passing ground truth have a reference. The ledger is removed if the block raises no error.
    """
    references = Planner(tasks, ground_truth, config=config, environment=environment).references()
    ledger_folder = store.workspace("contradictions", environment.environment_sha)
    with (
        store.synchronized(ledger_folder, LogFiles.VERDICTS),
        Engine(config, environment, ledger_folder, progress=progress) as engine,
    ):
        known = StoredContradictions(store, environment.environment_sha, references.keys())
        yield references.values(), known, engine.verdicts
    store.discard(ledger_folder)
