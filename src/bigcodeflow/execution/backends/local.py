"""The local backend: every sample in a sandbox of its own on this machine, started cold or forked warm."""

import logging
import os
import resource
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.admission import Admission
from bigcodeflow.execution.backends import bubblewrap, cgroups
from bigcodeflow.execution.backends.base import NOT_STARTED, Capabilities, OnUsage, Outcome, no_op
from bigcodeflow.execution.backends.observation import SIGKILL_EXITS, ResourceLimits, SandboxedProcess, observe
from bigcodeflow.execution.backends.warm import WarmSandbox, WarmStartError
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.zygote_plan import SURVEY_LIMITS, warmed
from bigcodeflow.sandbox import kernel

logger = logging.getLogger(__name__)

_PROBES = 3
_STARTS = 3
_SECONDS_BETWEEN_STARTS = 0.2
_EMPTY_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_nothing(self):
        pass
"""


class LocalBackend:
    """Runs items in sandboxes; without bubblewrap only after a check that was allowed to find none."""

    name = "local"

    def __init__(
        self,
        environment: InstalledEnvironment,
        limits: LimitsConfig,
        *,
        isolated: bool = True,
        warm: bool = False,
        admission: Admission | None = None,
    ) -> None:
        """Nothing is started before the first item.

        Args:
            environment: where items run.
            limits: what each may use.
            isolated: false runs them as bare processes.
            warm: fork them from processes that have their libraries imported, instead of starting each from nothing.
            admission: lets items start when there is room for them; None: each starts at once.
        """
        self._admission = admission
        self._environment, self._limits, self._isolated = environment, limits, isolated
        self._warm_wanted = warm and isolated
        self._warm: WarmSandbox | None = None
        self._groups = cgroups.SlotGroupPool(limits)
        self._lock = threading.Lock()

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Start one empty sandbox and say which layers hold; from then on items run in such sandboxes.

        Raises:
            SandboxUnavailableError: bubblewrap is missing or cannot start here, and unisolated runs are not allowed.
        """
        try:
            if self._warm_wanted:
                try:
                    self.kept_warm()
                except WarmStartError as error:
                    logger.warning("samples start cold, which is slower: %s", error)
                    self._warm_wanted = False
            self._probe()
        except SandboxUnavailableError:
            if not allow_unisolated:
                raise
            self._isolated = self._warm_wanted = False
            return Capabilities(isolated=False, layers=("process limits",))
        warm, groups = self._warm_wanted, cgroups.find_cgroup_dir()
        layers = (
            "user namespace" if warm or os.getuid() else "unprivileged user",
            "mount, PID, IPC, UTS and network namespaces",
            "read-only system",
            "sized temporary folder",
            "no new privileges, no capabilities",
            *(["seccomp filter"] if kernel.seccomp_available() else []),
            "process limits",
            *([groups.description] if groups else []),
            "CPU and memory of the process tree",
            *(["warm start"] if warm else []),
        )
        return Capabilities(isolated=True, layers=layers, warm=warm)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The items with what they preload; without bubblewrap nothing is prepared."""
        if not self._isolated:
            return items
        return warmed(items, self._environment, LocalBackend(self._environment, SURVEY_LIMITS))

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item to its end or to its limits, when there is room for it."""
        admission = self._admission
        with admission.admitted(item.expected_memory_mib) if admission else nullcontext(no_op) as on_usage:
            return self._executed(item, on_usage)

    def _executed(self, item: WorkItem, on_usage: OnUsage) -> Outcome:
        limits = ResourceLimits(
            seconds=item.time_seconds,
            rss_mib=self._limits.memory_mib,
            output_bytes=self._limits.output_kib << 10,
            tests=item.stop_after,
        )
        problem = ""
        for attempts_left in reversed(range(_STARTS)):
            try:
                with self._process(item) as (process, work_folder):
                    job = self._job(item, work_folder)
                    return observe(process, job=job, limits=limits, on_usage=on_usage)
            except WarmStartError as error:
                logger.info("a sample could not be started warm (%s); %d more tries", error, attempts_left)
                problem = str(error)
                time.sleep(_SECONDS_BETWEEN_STARTS)  # what was killed takes a moment to be seen as ended
        return Outcome(exit=f"{NOT_STARTED}{problem}")

    def close(self) -> None:
        """End what is kept warm."""
        with self._lock:
            if self._warm:
                self._warm.close()
            self._warm = None
        self._groups.close()

    @contextmanager
    def _process(self, item: WorkItem) -> Iterator[tuple[SandboxedProcess, str]]:
        """A process that waits for its job, and the item's working folder as the process sees it."""
        if not self._isolated:
            command = [str(self._environment.python), "-I", str(bubblewrap.HOST_HARNESS_FOLDER / "harness.py")]
            with tempfile.TemporaryDirectory(prefix="bigcodeflow-", ignore_cleanup_errors=True) as folder:
                variables = bubblewrap.variables(self._environment) | {"HOME": f"{folder}/home", "TMPDIR": folder}
                with closing(bubblewrap.ColdProcess(command, variables=variables, bare=True)) as process:
                    yield process, f"{folder}/work"
        elif self._warm_wanted:
            with self.kept_warm().process(item.zygote) as warm_process:
                yield warm_process, bubblewrap.WORK_FOLDER
        else:
            with self._cold_process() as process:
                yield process, bubblewrap.WORK_FOLDER

    def kept_warm(self) -> WarmSandbox:
        """The warm sandbox, started if there is none, or none any more.

        Raises:
            WarmStartError: it does not start here.
        """
        with self._lock:
            if self._warm and not self._warm.alive:
                logger.warning("the warm sandbox was lost; another one is started")
                self._warm.close()
                self._warm = None
            if self._warm is None:
                if any(path.is_relative_to(bubblewrap.TEMPORARY_FOLDER) for path in self._environment.mounts):
                    raise WarmStartError(
                        "the environment lies below the temporary folder, which each sample has its own of"
                    )
                self._warm = WarmSandbox(self._environment, self._limits, self._groups)
            return self._warm

    @contextmanager
    def _cold_process(self) -> Iterator[bubblewrap.ColdProcess]:
        uid, group = bubblewrap.sandbox_uid(), self._groups.take()
        filter_program = kernel.seccomp_program() if kernel.seccomp_available() else None
        with ExitStack() as stack:
            if group:
                stack.callback(self._groups.give, group)
            with bubblewrap.identity_files(uid) as files, ExitStack() as filters:
                seccomp_fd = None
                if filter_program:
                    seccomp_fd = bubblewrap.memory_file("seccomp", filter_program)
                    filters.callback(os.close, seccomp_fd)
                command = bubblewrap.command(
                    environment=self._environment,
                    limits=self._limits,
                    uid=uid,
                    data_fds=files,
                    as_root=os.getuid() == 0,
                    seccomp_fd=seccomp_fd,
                    group_entries=group.entries if group else (),
                )
                descriptors = [*files.values(), *([] if seccomp_fd is None else [seccomp_fd])]
                process = bubblewrap.ColdProcess(command, data_fds=descriptors, group=group)
            stack.callback(process.close)
            yield process

    def _probe(self) -> None:
        item = WorkItem("", "", _EMPTY_TEST, ("test_nothing",), 60.0, frozenset())
        outcome, attempts = self._executed(item, no_op), 1
        while outcome.exit in SIGKILL_EXITS and attempts < _PROBES:
            outcome, attempts = self._executed(item, no_op), attempts + 1
        if [frame["event"] for frame in outcome.frames][-1:] != ["end"]:
            problem = " ".join(outcome.stderr.split())[-300:] or outcome.exit
            raise SandboxUnavailableError(
                f"bubblewrap cannot start a sandbox here ({problem}): allow unprivileged user namespaces (in a "
                "container: by the options of docs/containers.md), run as root, or pass --allow-unisolated on a "
                "machine that you can lose"
            )

    def _job(self, item: WorkItem, work_folder: str) -> dict[str, object]:
        address_space = self._limits.address_space_mib << 20
        # They bound each process; the executor bounds their sum. CPU time is not among them: under such a limit the
        # kernel lets a program read its own CPU clock in steps of milliseconds only.
        rlimits = {
            "RLIMIT_AS": address_space,
            "RLIMIT_DATA": address_space,
            "RLIMIT_STACK": 10 << 20,
            "RLIMIT_NPROC": self._limits.processes,
            "RLIMIT_NOFILE": min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
            "RLIMIT_FSIZE": self._limits.disk_mib << 20,
            "RLIMIT_CORE": 0,
        }
        return {
            "nonce": secrets.token_hex(16),
            "program": item.program,
            "test": item.test,
            "separate": item.separate,
            "preload": item.preload,
            "home_template": str(self._environment.home_template or ""),
            "work_folder": work_folder,
            "rlimits": rlimits,
        }
