"""The local backend: every sample in a sandbox of its own on this machine, started cold or forked warm.

A worker has more slots than cores: a test that sleeps then holds a slot and no core, while one that computes in four
processes holds four. Memory that a sample is expected to need is kept free for it until it has taken it.
"""

import logging
import os
import resource
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path

import psutil

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends import bubblewrap, cgroups
from bigcodeflow.execution.backends.base import NOT_STARTED, Capabilities, OnUsage, Outcome, no_op
from bigcodeflow.execution.backends.observation import SIGKILL_EXITS, ResourceLimits, SandboxedProcess, observe
from bigcodeflow.execution.backends.warm import WarmSandbox, WarmStartError
from bigcodeflow.execution.items import WorkItem, untested_item
from bigcodeflow.execution.zygote_plan import SURVEY_LIMITS, warmed
from bigcodeflow.sandbox import kernel

logger = logging.getLogger(__name__)

_PROBES = 3
_STARTS = 3
_SECONDS_BETWEEN_STARTS = 0.2
#: Samples that may start beyond the cores: while one is being set up or ended, another computes.
_SURPLUS_CORES = 0.5
#: Part of the machine's memory that is never promised to a sample.
_RESERVE = 0.06
_POLL_SECONDS = 0.5
#: Bound, use and statistics of the group that a container sees as the root: versions 2 and 1 of control groups.
_BOUNDS = (
    tuple(f"/sys/fs/cgroup/memory.{name}" for name in ("max", "current", "stat")),
    tuple(f"/sys/fs/cgroup/memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")),
)


class Admission:
    """Lets samples of one worker start while there are cores and memory for them; used by all its threads."""

    def __init__(self, cores: float) -> None:
        self._cores = cores
        self._running: dict[object, tuple[float, float]] = {}  # cores in use, and memory promised and not taken yet
        self._changed = threading.Condition()

    @contextmanager
    def admitted(self, expected_memory_mib: float) -> Iterator[OnUsage]:
        """Wait for room and hold it; what is yielded is to be called with what the sample uses."""
        mine = object()
        with self._changed:
            while not self._has_room(expected_memory_mib):
                self._changed.wait(_POLL_SECONDS)  # other programs free memory without telling us
            self._running[mine] = 1.0, expected_memory_mib

        def on_usage(cores: float, memory_mib: float) -> None:
            with self._changed:
                if mine in self._running:
                    self._running[mine] = cores, max(0.0, expected_memory_mib - memory_mib)
                self._changed.notify_all()

        try:
            yield on_usage
        finally:
            with self._changed:
                del self._running[mine]
                self._changed.notify_all()

    def _has_room(self, expected_memory_mib: float) -> bool:
        if not self._running:
            return True  # whatever it needs, waiting would not help
        cores, owed_mib = map(sum, zip(*self._running.values(), strict=True))
        if cores + 1.0 > self._cores + _SURPLUS_CORES:
            return False
        free_mib, total_mib = machine_memory_mib()
        return free_mib - owed_mib - expected_memory_mib > _RESERVE * total_mib


def machine_memory_mib() -> tuple[float, float]:
    """Memory that can be had without swapping, and all memory, in MiB; in a container that of the container."""
    machine = psutil.virtual_memory()
    free, total = machine.available / 2**20, machine.total / 2**20
    for files in _BOUNDS:
        with suppress(OSError, ValueError):  # there is no such file outside of groups, and 'max' is no bound
            bound, used = (int(Path(name).read_text()) / 2**20 for name in files[:2])
            counts = dict(line.split() for line in Path(files[2]).read_text().splitlines())
            cached = int(counts.get("total_inactive_file", counts["inactive_file"])) / 2**20  # given back when needed
            free, total = min(free, bound - used + cached), min(total, bound)
    return free, total


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
            isolated: false runs items as bare processes.
            warm: fork them from processes that have their libraries imported, instead of starting each from nothing.
            admission: lets items start when there is room for them; None: each starts at once.
        """
        self._environment, self._limits, self._isolated = environment, limits, isolated
        self._warm_wanted, self._admission = warm and isolated, admission
        self._warm: WarmSandbox | None = None
        self._groups = cgroups.SlotGroupPool(limits)
        self._lock = threading.Lock()

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Start one empty sandbox and say which layers hold; from then on items run in such sandboxes."""
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

    def _executed(self, item: WorkItem, on_usage: OnUsage = no_op) -> Outcome:
        limits = ResourceLimits(
            seconds=item.time_seconds,
            rss_mib=self._limits.memory_mib,
            output_bytes=self._limits.output_kib << 10,
            tests=item.stop_after,
            fail_fast=item.fail_fast,
        )
        problem = ""
        for attempts_left in reversed(range(_STARTS)):
            try:
                with self._process(item) as (process, work_folder):
                    job = self._job(item, work_folder)
                    return observe(process, job, limits, on_usage)
            except WarmStartError as error:
                logger.info("a sample could not be started warm (%s); %d more tries", error, attempts_left)
                problem = str(error)
                time.sleep(_SECONDS_BETWEEN_STARTS)  # what was killed takes a moment to be seen as ended
        return Outcome(exit=f"{NOT_STARTED}{problem}")

    def close(self) -> None:
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
        """The warm sandbox, started if there is none, or none any more."""
        with self._lock:
            if self._warm and not self._warm.alive:
                logger.warning("the warm sandbox was lost; another one is started")
                self._warm.close()
                self._warm = None
            if self._warm is None:
                if any(path.is_relative_to(bubblewrap.TEMPORARY_FOLDER) for path in self._environment.mounts):
                    raise WarmStartError("the environment lies below the temporary folder, and each sample has its own")
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
        item = untested_item("", 60.0)
        outcome, attempts = self._executed(item), 1
        while outcome.exit in SIGKILL_EXITS and attempts < _PROBES:
            outcome, attempts = self._executed(item), attempts + 1
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
