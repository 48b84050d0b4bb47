"""A machine that is worth attacking: keys, sockets and an honest neighbour; and a look at what is left of it."""

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields
from pathlib import Path

import psutil
import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest import protocol
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.zygote_plan import FILE as IMPORT_SURVEY

LIMITS = LimitsConfig(time_seconds=4, memory_mib=300, processes=32, disk_mib=16, output_kib=4)
SECRET = "sk-canary-7d1f0c"
TOKEN = f"bcf-left-{os.getpid()}"
_HARNESS_FOLDER = Path(protocol.__file__).parent
SECONDS_TO_SETTLE = 120.0
ATTACKS_TOGETHER = 4
IN_FLIGHT = 6
"""Attacks that are executed together and honest neighbours."""


@pytest.fixture(
    scope="session", params=[pytest.param(False, marks=pytest.mark.slow, id="cold"), pytest.param(True, id="warm")]
)
def contained_backend(
    request: pytest.FixtureRequest, starter_environment: InstalledEnvironment
) -> Iterator[LocalBackend]:
    """Each kind of sandbox that a sample may run in, under limits that are quickly reached."""
    with closing(LocalBackend(starter_environment, LIMITS, warm=request.param)) as backend:
        if request.param and not backend.check().warm:
            pytest.skip("namespaces cannot be nested here, so samples start cold")
        # What is kept between samples is there from now on: control groups come with samples that take a while.
        idle = WorkItem("", "import time\ntime.sleep(0.8)\n", "", (), LIMITS.time_seconds, frozenset())
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            list(pool.map(backend.execute, [idle] * IN_FLIGHT))
        yield backend


@dataclass(frozen=True)
class Machine:
    """What an attack is told about the machine, and what it must leave as it was."""

    environment: InstalledEnvironment
    canary: Path
    servers: tuple[socket.socket, ...]
    socket_file: Path

    def filled_in(self, program: str) -> str:
        """The attack program with the machine's names filled in; the secret stands in it backwards."""
        names = {
            "CANARY": self.canary,
            "EXECUTOR_PID": os.getpid(),
            "EXECUTOR_UID": os.getuid(),
            "HOME": Path.home(),
            "HOME_TEMPLATE": self.environment.root / "home",
            "PORT": self.servers[0].getsockname()[1],
            "SECRET": SECRET[::-1],
            "SOCKET_FILE": self.socket_file,
            "TOKEN": TOKEN,
        }
        for name, value in names.items():
            program = program.replace(f"@{name}@", str(value))
        return program

    def visitors(self) -> int:
        """Connections that reached one of the servers."""
        found = 0
        for server in self.servers:
            try:
                server.accept()[0].close()
            except BlockingIOError:
                continue
            found += 1
        return found


@pytest.fixture(scope="session")
def machine(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("canary")
    (folder / "token").write_text(SECRET)
    socket_file = tmp_path_factory.mktemp("socket") / "s"
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", SECRET)
        servers = [socket.create_server(("127.0.0.1", 0))]
        for name in ("\0" + TOKEN, str(socket_file)):
            server = socket.socket(socket.AF_UNIX)
            server.bind(name)
            server.listen()
            servers.append(server)
        for server in servers:
            server.settimeout(0)
            stack.enter_context(server)
        yield Machine(starter_environment, folder, tuple(servers), socket_file)


@dataclass(frozen=True)
class State:
    """Everything that an attack may not change."""

    files: dict[str, tuple[int, int, int]]
    mounts: str
    system_v: str
    shared_memory: list[str]
    control_groups: list[str]
    descriptors: int
    processes: set[int]
    core_dumps: list[str]
    """In the executor's current folder, where other tests may write files of other names meanwhile."""
    leftovers: list[str]
    hostname: str

    def differences(self, later: "State") -> list[str]:
        """Names of what is not as it was; processes may have gone, but none may have come."""
        files = sorted(self.files.keys() | later.files.keys())
        simple = [field.name for field in fields(self) if field.name not in ("processes", "files")]
        return [
            *(f"process {pid}" for pid in later.processes - self.processes),
            *(f"file {name}" for name in files if self.files.get(name) != later.files.get(name)),
            *(name for name in simple if getattr(self, name) != getattr(later, name)),
        ]


def state_of(machine: Machine) -> State:
    """The machine as it is now."""
    system_v = "".join(Path(f"/proc/sysvipc/{kind}").read_text() for kind in ("shm", "sem", "msg"))
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    return State(
        files=_files(machine),
        # Container engines, such as that of other tests, mount meanwhile.
        mounts="\n".join(line for line in mounts if "docker" not in line),
        system_v=system_v,
        shared_memory=[path.name for path in Path("/dev/shm").iterdir() if TOKEN in path.name],
        # os.walk passes over those of other processes that go meanwhile.
        control_groups=[one for one, _, _ in os.walk("/sys/fs/cgroup") if f"-{os.getpid()}-" in Path(one).name],
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        processes={child.pid for child in psutil.Process().children(recursive=True)},
        core_dumps=sorted(path.name for path in Path.cwd().glob("core*")),
        leftovers=[str(process.pid) for process in psutil.process_iter() if _is_leftover(process)],
        hostname=socket.gethostname(),
    )


def settled(machine: Machine, before: State) -> list[str]:
    """What differs from before once the kernel had a moment to finish what was killed."""
    give_up_at = time.monotonic() + SECONDS_TO_SETTLE
    while (found := before.differences(state_of(machine))) and time.monotonic() < give_up_at:
        time.sleep(0.05)
    return found


def _is_leftover(process: psutil.Process) -> bool:
    try:
        return TOKEN in " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _files(machine: Machine) -> dict[str, tuple[int, int, int]]:
    """Size, time of change and mode of what lies where attacks would like to write."""
    environment = machine.environment
    folders = [machine.canary, machine.canary.parent, _HARNESS_FOLDER, Path.home(), environment.root]
    folders += [environment.root / "home", *environment.root.glob("venv/lib/python*/site-packages")]
    found = {}
    for folder in folders:
        for path in folder.iterdir() if folder.is_dir() else ():
            about = path.lstat()
            # A folder's time also tells of what honest others do below it; other tests measure imports meanwhile.
            if not path.is_dir() and IMPORT_SURVEY not in path.name:
                found[str(path)] = (about.st_size, about.st_mtime_ns, about.st_mode)
    return found
