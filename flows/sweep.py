"""Flow of a sweep: the benchmark flow for each of its runs; finished runs are reused."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect.logging import get_run_logger
from prefect.states import Completed

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.pipeline import sweep_results
from bigcodeflow.pipeline.concurrent_stages import StageLocks
from bigcodeflow.pipeline.interruption import quiet_interruption
from bigcodeflow.pipeline.progress import terminal_listener
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.sweep_results import MemberResult, Plan
from bigcodeflow.pipeline.sweeps import Member, SweepConfig, load_sweep, members_of
from bigcodeflow.recording import FinishedRun, reused_result
from flows.benchmark import benchmark, judge, moment_and_token, scored
from flows.hooks import by_config, by_parameters, failing_with_message, reporting_flow
from tasks.progress import ProgressBar
from tasks.upkeep_artifacts import show_sweep

if TYPE_CHECKING:
    from bigcodeflow.core.progress import Progress

#: Number of members (runs of the sweep) at the same time: one executes while the other asks its model.
_AT_ONCE = 2
#: Default sweep: the controls 'oracle' and 'stub' on the starter tasks, which need no API key and no network.
STARTER_SWEEP = SweepConfig()


def sweep_title(config: SweepConfig) -> str:
    """Return the title of the sweep, 'sweep NAME'."""
    return f"sweep {config.name}"


@reporting_flow("sweep", flow_run_name=by_config(SweepConfig, sweep_title))
def sweep(config: SweepConfig = STARTER_SWEEP) -> list[MemberResult]:
    """Judge every model on every benchmark, under every setting. Finished work is reused; a failed run stops no other.

    Args:
        config: The sweep.
    """
    return run_members(config)


@reporting_flow("sweep", flow_run_name=by_parameters(lambda file: f"sweep {Path(file).stem}", str))
def sweep_file(file: str = "starter") -> list[MemberResult]:
    """Judge every model of a sweep file, which is read when the run begins. Finished work is reused.

    Args:
        file: A YAML file with the sweep, or the name of a shipped one: starter or nightly.
    """
    return run_members(load_sweep(file))


def run_members(chosen: SweepConfig) -> list[MemberResult]:
    """Run all members of a sweep and attach its table to the flow run; raise SweepFailedError if a member failed."""
    folder = sweep_results.folder_of(chosen, *moment_and_token())
    results = list(_perform(chosen, members_of(chosen), folder))
    show_sweep(chosen, results, sweep_results.write_results(chosen, results, folder))
    sweep_results.refuse_failures(chosen, results)
    return Completed(message=sweep_results.summary(results), data=results)  # type: ignore[return-value]


def _perform(config: SweepConfig, members: tuple[Member, ...], folder: str) -> Iterator[MemberResult]:
    """Yield the members' results in order; while a member executes samples, the next member asks its model."""
    recorded, resolver, stage_locks = sweep_results.last_runs(config.store), Resolver(), StageLocks()
    logger, total = get_run_logger(), f"{len(members):,}"
    progress, terminal = ProgressBar(sweep_title(config), logger), terminal_listener.get()
    show: Progress = terminal.begin(sweep_title(config)) if terminal else lambda *_, **__: None
    show(0, len(members))

    def perform(number: int, member: Member) -> MemberResult:
        logger.info("run %s of %s: %s", f"{number + 1:,}", total, member.title)
        terminal_listener.set(terminal and terminal.of_run(member.title))  # in this member's context alone
        plan = sweep_results.plan_of(member, recorded.get(member.name), resolver).placed(folder)
        if plan.artifacts is None:
            return _run(plan, resolver, stage_locks, config.preset)
        try:
            return reused_result(plan, plan.artifacts, resolver)
        except BigCodeFlowError as error:  # its folder may hold other results; other runs are not affected
            return plan.result("failed", error=str(error))

    with ThreadPoolExecutor(_AT_ONCE, "member") as pool:
        running = [pool.submit(copy_context().run, perform, number, one) for number, one in enumerate(members)]
        try:
            for number, member in enumerate(running, start=1):
                with quiet_interruption():
                    result = member.result()
                yield result
                progress.update(100.0 * number / len(members))
                show(number, len(members))
        except BaseException as error:
            # An interruption reaches only this thread, and the with block would wait for the members to finish.
            stage_locks.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(_kept(config, running)) from None
            raise
    logger.info("%s of %s runs: finished", total, total)


def _kept(config: SweepConfig, running: Sequence[Future[MemberResult]]) -> str:
    """Return the message for a user who interrupted the sweep: what is finished, and how to continue."""
    finished = sum(one.done() and not one.cancelled() and not one.exception() for one in running)
    return (
        f"stopped: {finished:,} of {len(running):,} runs are finished, and the partial work of the others is in "
        f"{config.store}; run the same sweep again to continue"
    )


def _run(plan: Plan, resolver: Resolver, stage_locks: StageLocks, preset: str) -> MemberResult:
    """Run the benchmark flow for a member; a failure is returned as a result with the outcome 'failed'."""
    member, started = plan.member, time.monotonic()
    cause = f" ({plan.cause})" if plan.cause else ""
    get_run_logger().info("%s: to do: %s%s", member.title, ", ".join(plan.missing) or plan.problem, cause)
    # Not the state's own result: it is lost if the server did not answer in time and got the state twice.
    made: list[FinishedRun] = []

    def judged(config: RunConfig) -> FinishedRun:
        made.append(judge(config, resolver, stage_locks, preset))
        return scored(made[-1])

    state = _flow_of(member, judged)(member.config, return_state=True)
    seconds = time.monotonic() - started
    if state.is_completed() and made:
        return sweep_results.finished_result(plan, made[0].artifacts, outcome="ran", seconds=seconds)
    error = state.message or state.name or "did not finish"
    get_run_logger().error("%s: %s", member.title, error)
    return plan.result("failed", error=error, seconds=seconds)


def _flow_of(member: Member, judged: Callable[[RunConfig], FinishedRun]) -> Any:
    """Return a copy of the benchmark flow for this member only.

    Prefect numbers the calls of each subflow, and a retried run reuses the subflow run with the same number. A retry
    calls only unfinished members, so with a shared flow a member could get the subflow run of another member.
    """

    def body(config: RunConfig) -> FinishedRun:
        return judged(config)

    body.__qualname__ = f"benchmark_{member.name.replace('.', '_')}"
    own: Any = benchmark.with_options(flow_run_name=member.title)
    own.fn = failing_with_message(body)
    return own
