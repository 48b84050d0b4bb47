"""Settings of a worker process, and the execution of items with the backend that these settings describe."""

import socket
from contextlib import closing
from dataclasses import dataclass, replace

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.reruns import RerunPolicy
from bigcodeflow.judge.backend_registry import make_backend
from bigcodeflow.judge.environments import Environment, InstalledEnvironment, installed_environments
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.judging import executed
from bigcodeflow.judge.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Executor:
    """Settings that a worker needs to execute items; small, picklable, and the same for all stages of a run."""

    config: ExecutionConfig
    environment: Environment
    isolated: bool = True
    writes_ledger: bool = True
    """True if workers write verdicts to the ledger themselves, so that final verdicts survive a killed run. False if
    workers may lack the ledger's folder: then the process of the run writes the returned verdicts."""

    def run(self, item: WorkItem, policy: RerunPolicy, backend: Backend, ledger: Ledger) -> Verdict:
        """Execute an item in a worker process, with the worker's own backend and ledger."""
        if not self.writes_ledger:
            return self.judge(backend, item, policy)
        # Another worker may have written the verdict and died before it answered.
        verdict = next(filter(policy.settles, ledger.find({item.verdict_key}, own=False)), None)
        if verdict is None:
            verdict = self.judge(backend, item, policy)
            ledger.append(verdict)
        return verdict

    def backend(self, slots: int = 1) -> Backend:
        """Make the configured backend for a worker process that executes this number of items (``slots``) at once."""
        cores = max(1.0, slots / self.config.slots_per_worker)
        return make_backend(self.config, self.environment, cores=cores, isolated=self.isolated, on_long=_leave_slot)

    def backend_of_worker(self, slots: int) -> Backend:
        """Make a worker's backend; on another machine, with the environment and isolation available there."""
        if self.writes_ledger or not isinstance(self.environment, InstalledEnvironment):
            return self.backend(slots)  # on this machine, or with an environment at the backend, for every machine
        return checked(replace(self, environment=environment_here(self.environment))).backend(slots)

    def judge(self, backend: Backend, item: WorkItem, policy: RerunPolicy) -> Verdict:
        """Execute an item as often as ``policy`` requires, and return its verdict."""
        sha = self.environment.environment_sha
        executions = [executed(backend, item, sha)]
        while policy.wants_another(executions):
            executions.append(executed(backend, item, sha))
        return policy.settled(executions)


def _leave_slot() -> None:
    """Free the worker's thread slot while a sample runs for long, so that the worker takes another item."""
    from distributed import secede
    from distributed.threadpoolexecutor import thread_state

    if getattr(thread_state, "proceed", False):  # not a second time for another execution of the same item
        secede()


def checked(executor: Executor) -> Executor:
    """Return the executor with the isolation and the kind of start (warm or cold) that this machine offers."""
    with closing(executor.backend()) as backend:
        return adapted(executor, backend)


def adapted(executor: Executor, backend: Backend) -> Executor:
    """Return the executor with ``backend``'s isolation and start; raise SandboxUnavailableError if the check fails."""
    capabilities = backend.check(allow_unisolated=executor.config.allow_unisolated)
    if executor.config.backend != "local":
        return executor  # its hosts check this themselves
    start = executor.config.start if capabilities.warm else "cold"
    config = executor.config.model_copy(update={"start": start})
    return replace(executor, isolated=capabilities.isolated, config=config)


def environment_here(wanted: InstalledEnvironment) -> InstalledEnvironment:
    """Return this machine's environment with the sha of ``wanted``; raise EnvironmentUnusableError if it is missing."""
    found = installed_environments()
    for environment in found:
        if environment.environment_sha == wanted.environment_sha:
            return environment
    others = [one.environment_sha[:12] for one in found if one.name == wanted.name]
    there = f"it has {', '.join(others)} of that name" if others else "no environment of that name is there"
    raise EnvironmentUnusableError(
        f"worker on {socket.gethostname()} lacks the sandbox environment {wanted.name} with sha "
        f"{wanted.environment_sha[:12]} ({there}): run `bigcodeflow env build {wanted.name}` there, or set "
        "BIGCODEFLOW_ENVIRONMENTS to a folder that has it, and restart the worker"
    )
