"""From planned executions to the VERDICTS table, and executions for the coverage of tasks' tests by checks."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.progress import Status
from bigcodeflow.core.schemas import VERDICTS, table_of
from bigcodeflow.execution.engine import Engine, Progress
from bigcodeflow.execution.judged_rows import JudgedRows, KnownVerdicts
from bigcodeflow.execution.planning import Planned, Planner
from bigcodeflow.execution.reruns import ONCE, RerunPolicy
from bigcodeflow.execution.stored_contradictions import StoredContradictions
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.integrity import checks
from bigcodeflow.judge.integrity.contradictions import Contradictions, Execute, Reference
from bigcodeflow.judge.verdicts import Verdict, blocked_verdict
from bigcodeflow.store import LogFiles, Store

StatusProgress = Callable[[int, int, str, Status], None]
"""Called with finished and total executions, a remark, and the status of running executions."""

_POLL_SECONDS = 0.5


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
    """Execute items without a known verdict, and return the VERDICTS table and the counts of the stage.

    Args:
        chunks: planned rows, as they become known; the last chunk holds all rows. None means that nothing is new.
            With reruns, pass a single chunk, because the choice of reruns depends on all earlier verdicts.
        ledger_folder: durable verdicts of this stage, from this and from interrupted runs.
        expected_rows: number of rows in the last chunk, for the progress; 0: unknown.
        known: function that returns published VERDICTS rows by key, such as `VerdictIndex.verdicts`; None: no rows.
        other_ledgers: ledgers of other unfinished runs, read only.
        planner: planner of samples, with the ground truths; None: the rows are ground truths.
        texts: known altered texts of tests, for the checks of passing samples; None: passes are not checked.
        workers: workers of the run; None: the stage starts its own workers.
        on_verdict: receives the verdict of each row, with its task_id, as soon as it is known.
    """

    def report(*_: int) -> None:
        if progress:
            # Of ground truths no score is shown; raw verdicts count only where there are no others.
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
    """Yield what `checks.coverage` and `checks.undetected` take, for the tasks whose own solution passes.

    The store keeps the results, which are reused, and the ledger until the block ends without an error.
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
