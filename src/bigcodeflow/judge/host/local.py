"""Local backend: runs every sample in a separate sandbox on this machine, with a cold or a warm start."""

import logging
import os
import resource
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest import kernel
from bigcodeflow.judge.host import bubblewrap, cgroups
from bigcodeflow.judge.host.admission import Admission
from bigcodeflow.judge.host.base import NOT_STARTED, READ_FROM_DISK, Capabilities, Outcome, Turn, UnderWay
from bigcodeflow.judge.host.observation import SIGKILL_EXITS, SandboxedProcess, observe
from bigcodeflow.judge.host.warm import WarmSandbox, WarmStartError
from bigcodeflow.judge.items import WorkItem, untested_item
from bigcodeflow.judge.zygote_plan import SURVEY_LIMITS, ZygotePlanner

logger = logging.getLogger(__name__)

_PROBES = 3
_STARTS = 3
_SECONDS_BETWEEN_STARTS = 0.2
#: Most executions of an item with ``from_memory``: the first ones read the files that it needs into memory.
_READING_EXECUTIONS = 4


class LocalBackend(UnderWay):
    """Backend that runs items in sandboxes on this machine; without sandboxes only if the caller allowed that."""

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
        """Store the settings; the first check or item starts the first process.

        Args:
            isolated: False runs items as plain processes, without a sandbox.
            warm: True forks each item from a process that has imported its libraries; False starts new interpreters.
            admission: lets items start when cores and memory are free; None: each item starts at once.
        """
        super().__init__()
        self._environment, self._limits, self._isolated = environment, limits, isolated
        self._warm_wanted, self._admission = warm and isolated, admission
        self._warm: WarmSandbox | None = None
        self._planner: ZygotePlanner | None = None
        self._groups = cgroups.SlotGroupPool(limits)
        self._lock = threading.Lock()
        #: True if disk reads are evidence here: a program that was executed before reads nothing from the disk.
        self._counts_reads = False

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Run an empty program in a sandbox; return the isolation of that sandbox, which later items get too."""
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
        channels = (  # what samples share in spite of their namespaces
            "files that are read first" + (", except in checks" if self._counts_reads else ""),
            "load, free memory and caches",
            *(["a user's kernel quotas, while both run"] if os.getuid() else []),
            *([] if kernel.seccomp_available() else ["pages of files that are evicted", "keyrings"]),
        )
        return Capabilities(isolated=True, layers=layers, warm=warm, open_channels=channels)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        if not self._isolated:
            return items
        if self._planner is None:
            self._planner = ZygotePlanner(self._environment, LocalBackend(self._environment, SURVEY_LIMITS))
        return self._planner.warmed(items)

    def execute(self, item: WorkItem) -> Outcome:
        admission = self._admission
        idle_seconds = item.expected_seconds - item.expected_cpu_seconds
        room = admission.admitted(item.expected_memory_mib, idle_seconds) if admission else nullcontext(Turn())
        with room as turn, self.noted(item):
            return self._executed(item, turn)

    def _executed(self, item: WorkItem, turn: Turn) -> Outcome:
        for _ in range(_READING_EXECUTIONS):
            outcome, has_read = self._executed_once(item, turn)
            if not (item.from_memory and self._counts_reads and has_read):
                return outcome
        return Outcome(exit=f"{READ_FROM_DISK} in each of {_READING_EXECUTIONS} executions")

    def _executed_once(self, item: WorkItem, turn: Turn) -> tuple[Outcome, bool]:
        """Execute the item; return its outcome, and True if it has ``from_memory`` but may have read the disk."""
        problem = ""
        for attempts_left in reversed(range(_STARTS)):
            try:
                with self._process(item) as (process, work_folder):
                    outcome = observe(process, self._job(item, work_folder), item, self._limits, turn)
                    return outcome, item.from_memory and process.disk_blocks() != 0
            except WarmStartError as error:
                logger.info("a warm start of a sample failed (%s): tries left: %d", error, attempts_left)
                problem = str(error)
                time.sleep(_SECONDS_BETWEEN_STARTS)  # killed processes take a moment to be reported as ended
        return Outcome(exit=f"{NOT_STARTED}{problem}"), False

    def close(self) -> None:
        with self._lock:
            if self._warm:
                self._warm.close()
            self._warm = None
        self._groups.close()

    @contextmanager
    def _process(self, item: WorkItem) -> Iterator[tuple[SandboxedProcess, str]]:
        """Yield a process that waits for its job, and the path of the item's working folder in the sandbox."""
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
        """Return the warm sandbox; start it if it does not exist or has ended."""
        with self._lock:
            if self._warm and not self._warm.alive:
                logger.warning("the warm sandbox ended unexpectedly: a new warm sandbox is started")
                self._warm.close()
                self._warm = None
            if self._warm is None:
                if any(path.is_relative_to(bubblewrap.TEMPORARY_FOLDER) for path in self._environment.mounts):
                    raise WarmStartError("the environment is in /tmp, which sandboxes hide: build it elsewhere")
                self._warm = WarmSandbox(self._environment, self._limits, self._groups)
            return self._warm

    @contextmanager
    def _cold_process(self) -> Iterator[bubblewrap.ColdProcess]:
        uid, group = bubblewrap.sandbox_uid(), self._groups.take()
        filter_program = kernel.seccomp_program() if kernel.seccomp_available() else None
        filter_file = bubblewrap.memory_file("seccomp", filter_program) if filter_program else nullcontext()
        with ExitStack() as stack:
            if group:
                stack.callback(self._groups.give, group)
            with bubblewrap.identity_files(uid) as files, filter_file as seccomp_fd:
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
        item = replace(untested_item("", 60.0), from_memory=True)
        for _ in range(_PROBES):
            outcome, has_read = self._executed_once(item, Turn())
            if outcome.exit not in SIGKILL_EXITS and not has_read:
                break
        self._counts_reads = not has_read  # unknown after cold starts; a file system without a page cache always reads
        if [frame["event"] for frame in outcome.frames][-1:] != ["end"]:
            problem = " ".join(outcome.stderr.split())[-300:] or outcome.exit
            raise SandboxUnavailableError(
                f"bubblewrap cannot start a sandbox here ({problem}): allow unprivileged user namespaces (in a "
                "container: by the options of docs/containers.md), run as root, or pass --allow-unisolated on a "
                "machine without valuable data"
            )

    def _job(self, item: WorkItem, work_folder: str) -> dict[str, object]:
        address_space = self._limits.address_space_mib << 20
        # These limit each process; the executor limits their sum. CPU time is not limited here: with such a limit the
        # kernel lets a program read its own CPU clock in steps of milliseconds only.
        rlimits = {
            "RLIMIT_AS": address_space,
            "RLIMIT_DATA": address_space,
            "RLIMIT_STACK": 10 << 20,
            "RLIMIT_NPROC": self._limits.processes,
            "RLIMIT_NOFILE": min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
            "RLIMIT_FSIZE": self._limits.disk_mib << 20,
            "RLIMIT_CORE": 0,
            # All samples together stay below what the kernel allows their common user.
            "RLIMIT_SIGPENDING": 1024,
            "RLIMIT_MSGQUEUE": 0,
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
