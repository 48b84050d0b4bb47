"""The local backend: every sample in a sandbox of its own on this machine, started cold or forked warm.

More samples are in flight than there are cores: a test that sleeps holds no core, while one that computes in four
processes holds four. Memory that a sample is expected to need is kept free for it until it has taken it.
"""

import logging
import os
import resource
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path

import psutil

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends import bubblewrap, cgroups
from bigcodeflow.execution.backends.base import NOT_STARTED, Capabilities, Outcome, Turn, UnderWay
from bigcodeflow.execution.backends.observation import SIGKILL_EXITS, ResourceLimits, SandboxedProcess, observe
from bigcodeflow.execution.backends.warm import WarmSandbox, WarmStartError
from bigcodeflow.execution.items import WorkItem, untested_item
from bigcodeflow.execution.zygote_plan import SURVEY_LIMITS, ZygotePlanner
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
#: Samples that one worker process has under way at most, sleeping and paused ones included: each holds descriptors.
MOST_IN_FLIGHT = 128
#: How long a core has to be free before a paused sample takes it: the next item may be on its way.
_IDLE_SECONDS = 0.5
_POLL_PAUSED_SECONDS = 0.1
#: Wall time after which a sample no longer counts to the items that its worker asks for.
_SECONDS_IN_SLOT = 2.0
#: Bound, use and statistics of the group that a container sees as the root: versions 2 and 1 of control groups.
_BOUNDS = (
    tuple(f"/sys/fs/cgroup/memory.{name}" for name in ("max", "current", "stat")),
    tuple(f"/sys/fs/cgroup/memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")),
)


class Admission:
    """Lets samples of one worker start while there are cores and memory for them; used by all its threads.

    A long sample, such as an endless loop, gives way to those that wait: of several cores all long ones together keep
    one, so that no core idles at the end for the last of them, and all cores when nobody waits.
    """

    def __init__(
        self,
        cores: float,
        on_long: Callable[[], None] | None = None,
        memory: Callable[[], tuple[float, float]] | None = None,
    ) -> None:
        """Make a gate that nobody has passed.

        Args:
            cores: cores that samples share.
            on_long: called once in the thread of each sample that takes longer than two seconds.
            memory: reads free and total memory, in MiB; None: that of this machine.
        """
        self._cores, self._on_long, self._memory = cores, on_long, memory or machine_memory_mib
        self._long_cores = 1 if cores >= 2 else 0  # noqa: PLR2004
        self._waiting: dict[_AdmittedTurn, None] = {}
        self._running: dict[_AdmittedTurn, None] = {}
        self._paused: dict[_AdmittedTurn, None] = {}
        self._idle_since: float | None = None
        self._lock = threading.Lock()

    @contextmanager
    def admitted(self, expected_memory_mib: float) -> Iterator[Turn]:
        """Wait for room and hold it."""
        turn = _AdmittedTurn(self, expected_memory_mib)
        with self._lock:
            self._waiting[turn] = None
            self._dispatch()
        while not turn.go.wait(_POLL_SECONDS):
            with self._lock:
                self._dispatch()  # other programs free memory without telling us
        try:
            yield turn
        finally:
            with self._lock:
                del self._running[turn]
                self._dispatch()

    def update(self, turn: "_AdmittedTurn", cores: float, memory_mib: float, *, is_long: bool) -> bool:
        """Note what a sample uses; whether it has to pause."""
        with self._lock:
            turn.cores, turn.is_long = cores, is_long
            turn.owed_mib = max(0.0, turn.expected_mib - memory_mib)
            self._dispatch()
            surplus = self._long_running() > self._long_cores
            must_pause = is_long and surplus and bool(self._waiting) and not self._has_core()
        if self._on_long and not turn.left_slot and (must_pause or turn.age_seconds() > _SECONDS_IN_SLOT):
            turn.left_slot = True
            self._on_long()
        return must_pause

    def pause(self, turn: "_AdmittedTurn") -> None:
        """Give the turn's core to others, and return when there is one for it again."""
        turn.go.clear()
        with self._lock:
            del self._running[turn]
            self._paused[turn] = None
            self._dispatch()
        while not turn.go.wait(_POLL_PAUSED_SECONDS):
            with self._lock:
                self._dispatch()

    def _dispatch(self) -> None:
        """Start what there is room for: a long one within its share, then those that wait, then paused ones."""
        if self._paused and self._has_core() and self._long_running() < self._long_cores:
            self._start(self._paused)
        for turn in list(self._waiting):
            if not self._has_core():
                break
            if self._has_memory(turn):
                self._start(self._waiting, turn)
        # Where those that wait lack memory and nothing runs, only the end of a paused one gives some back.
        is_idle = self._paused and self._has_core() and not (self._waiting and self._running)
        if not is_idle:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > _IDLE_SECONDS:
            self._start(self._paused)
            self._idle_since = None

    def _start(self, queue: "dict[_AdmittedTurn, None]", turn: "_AdmittedTurn | None" = None) -> None:
        turn = turn or next(iter(queue))
        del queue[turn]
        turn.cores = 1.0
        self._running[turn] = None
        turn.go.set()

    def _long_running(self) -> int:
        return sum(turn.is_long for turn in self._running)

    def _has_core(self) -> bool:
        cores = sum(turn.cores for turn in self._running)
        in_flight = len(self._running) + len(self._paused)
        is_full = in_flight >= MOST_IN_FLIGHT and bool(self._running)
        return not self._running or (cores + 1.0 <= self._cores + _SURPLUS_CORES and not is_full)

    def _has_memory(self, turn: "_AdmittedTurn") -> bool:
        if not self._running and not self._paused:
            return True  # whatever it needs, waiting would not help
        owed_mib = sum(other.owed_mib for other in self._running)
        free_mib, total_mib = self._memory()
        return free_mib - owed_mib - turn.expected_mib > _RESERVE * total_mib


class _AdmittedTurn(Turn):
    def __init__(self, admission: Admission, expected_mib: float) -> None:
        self._admission, self._began = admission, time.monotonic()
        self.expected_mib = self.owed_mib = expected_mib
        self.cores, self.is_long, self.left_slot = 1.0, False, False
        self.go = threading.Event()

    def age_seconds(self) -> float:
        return time.monotonic() - self._began

    def used(self, cores: float, memory_mib: float, *, is_long: bool) -> bool:
        return self._admission.update(self, cores, memory_mib, is_long=is_long)

    def wait(self) -> None:
        self._admission.pause(self)


def machine_memory_mib() -> tuple[float, float]:
    """Memory that can be had without swapping, and all memory, in MiB; in a container that of the container."""
    machine = psutil.virtual_memory()
    free, total = machine.available / 2**20, machine.total / 2**20
    for files in _BOUNDS:
        with suppress(OSError, ValueError):  # there is no such file outside of groups, and 'max' is no bound
            bound, used = (int(Path(name).read_text(encoding="utf-8")) / 2**20 for name in files[:2])
            counts = dict(line.split() for line in Path(files[2]).read_text(encoding="utf-8").splitlines())
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
        self._planner: ZygotePlanner | None = None
        self._groups = cgroups.SlotGroupPool(limits)
        self._lock = threading.Lock()
        self._under_way = UnderWay()

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
        if self._planner is None:
            self._planner = ZygotePlanner(self._environment, LocalBackend(self._environment, SURVEY_LIMITS))
        return self._planner.warmed(items)

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item to its end or to its limits, when there is room for it."""
        admission = self._admission
        room = admission.admitted(item.expected_memory_mib) if admission else nullcontext(Turn())
        with room as turn, self._under_way.noted(item):
            return self._executed(item, turn)

    def under_way(self) -> Mapping[str, float]:
        """Items that have room, and for how many seconds."""
        return self._under_way.seconds()

    def _executed(self, item: WorkItem, turn: Turn) -> Outcome:
        limits = ResourceLimits(
            seconds=item.time_seconds,
            rss_mib=self._limits.memory_mib,
            output_bytes=self._limits.output_kib << 10,
            tests=item.stop_after,
            long_after_seconds=item.long_after_seconds,
            fail_fast=item.fail_fast,
        )
        problem = ""
        for attempts_left in reversed(range(_STARTS)):
            try:
                with self._process(item) as (process, work_folder):
                    job = self._job(item, work_folder)
                    return observe(process, job, limits, turn)
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
        outcome, attempts = self._executed(item, Turn()), 1
        while outcome.exit in SIGKILL_EXITS and attempts < _PROBES:
            outcome, attempts = self._executed(item, Turn()), attempts + 1
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
