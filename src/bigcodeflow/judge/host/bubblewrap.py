"""Command lines that run the harness in a separate sandbox, and the process of such a command line (cold start).

If root starts it, the sandbox drops to an unprivileged user without capabilities; otherwise it uses a user namespace.
Both kinds of sandbox see a read-only system, the environment and temporary folders of limited size, but no network
except loopback, no terminal, no descriptor of the executor. If memory runs out, the kernel kills sandboxes first.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest import protocol
from bigcodeflow.judge.host.cgroups import SlotGroup
from bigcodeflow.judge.host.observation import ProcessEnd, SandboxedProcess

#: Folder of the harness on this machine, and its path inside a sandbox.
HOST_HARNESS_FOLDER = Path(protocol.__file__).parent
HARNESS_FOLDER = "/harness"
TEMPORARY_FOLDER = "/tmp"  # noqa: S108 -- the sandbox's own, as are the next two
WORK_FOLDER = f"{TEMPORARY_FOLDER}/work"
HOME_FOLDER = f"{TEMPORARY_FOLDER}/home"
_WRITABLE_FOLDERS = ("/dev/shm", TEMPORARY_FOLDER)  # noqa: S108
#: First user id of sandboxes, unused elsewhere. Each sandbox has a separate id, as the process limit counts per user.
_FIRST_UID = 0x7000_0000
#: User and group of a sample inside a warm sandbox; judge/guest/supervisor.py maps this id.
SAMPLE_ID = 1000
#: Number of user ids for the samples of one warm sandbox that root starts, and the lowest id of all such sandboxes.
SAMPLE_USERS, _FIRST_SAMPLE_UID = 255, 0x8000_0000
_SYSTEM_FILES = (
    *("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/etc/magic", "/etc/mime.types"),
    *("/etc/nsswitch.conf", "/etc/protocols", "/etc/services", "/etc/ssl"),
)
_LINKED_FOLDERS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
#: Files of /proc that show data of the whole machine or its users' keys in spite of namespaces.
_MASKED = (*("/proc/kcore", "/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/sched_debug", "/proc/timer_list"),)
#: Memory of bubblewrap's process in the sandbox. If the executor is not root, that process has the sample's user, and
#: no filter of system calls.
_MASKED_MEMORY = ("/proc/1/mem", "/proc/1/task/1/mem")
_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
#: Shell script that makes its process the OOM killer's first choice, enters control groups, and becomes the sandbox. If
#: a group refuses the process, the sample lacks one of several limits.
_LAUNCHER = """{ echo 1000 >/proc/self/oom_score_adj
while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; } 2>/dev/null
shift
exec "$@"
"""


@cache
def find_bubblewrap() -> str:
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxUnavailableError(
            "bubblewrap is not installed, so generated code cannot be isolated: install it (apt-get install "
            "bubblewrap), or pass --allow-unisolated on a machine without valuable data"
        )
    return path


def sandbox_uid() -> int:
    """Return the user id of the calling thread's sandbox; no other running sandbox of this machine has this id."""
    return _FIRST_UID + threading.get_native_id()


def sample_users() -> int:
    """Return the lowest of the SAMPLE_USERS consecutive user ids for samples of the calling thread's warm sandbox."""
    return _FIRST_SAMPLE_UID + SAMPLE_USERS * threading.get_native_id()


def variables(environment: InstalledEnvironment) -> dict[str, str]:
    return {
        "HOME": HOME_FOLDER,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "LOGNAME": "sandbox",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": f"{environment.python.parent}:/usr/local/bin:/usr/bin:/bin",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TMPDIR": TEMPORARY_FOLDER,
        "TZ": "UTC",
        "USER": "sandbox",
    } | dict(environment.variables)


def command(
    *,
    environment: InstalledEnvironment,
    limits: LimitsConfig,
    uid: int,
    data_fds: Mapping[str, int],
    as_root: bool,
    seccomp_fd: int | None = None,
    group_entries: Sequence[str] = (),
) -> list[str]:
    """Return the argument vector that runs the harness in a sandbox.

    Args:
        uid: user id in the sandbox.
        data_fds: path of a file to create in the sandbox → descriptor from which bubblewrap reads its content.
        as_root: True if the caller is root.
        seccomp_fd: descriptor that holds the filter of system calls; None: no filter.
        group_entries: paths of the control group's cgroup.procs files, through which the process enters the group.
    """
    arguments = ["/bin/sh", "-c", _LAUNCHER, "launcher", *group_entries, "--", find_bubblewrap()]
    if as_root:
        capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        arguments += [*_NAMESPACES, *(word for name in capabilities for word in ("--cap-add", name))]
    else:
        arguments += ["--unshare-user", "--disable-userns", "--uid", str(uid), "--gid", str(uid), *_NAMESPACES]
    if seccomp_fd is not None:
        arguments += ["--seccomp", str(seccomp_fd)]
    masks = [word for path in (*_MASKED_MEMORY, *masked_files()) for word in ("--ro-bind", "/dev/null", path)]
    masks += ["--remount-ro", "/proc"]  # also keeps processes inside from lowering their oom_score_adj
    arguments += [*_visible(environment, limits, data_fds, masks=masks), "--"]
    if as_root:
        arguments += ["/usr/bin/setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
        arguments += ["--inh-caps=-all", "--bounding-set=-all"]
    return [*arguments, str(environment.python), "-I", f"{HARNESS_FOLDER}/harness.py"]


def supervisor_command(
    *,
    environment: InstalledEnvironment,
    limits: LimitsConfig,
    data_fds: Mapping[str, int],
    as_root: bool,
    settings: str,
) -> list[str]:
    """Return the argument vector of a warm sandbox's supervisor, which makes separate namespaces for each sample.

    The sandbox shows the same files as the sandbox of ``command``, but the supervisor keeps the privileges to make
    namespaces. If the caller is root, the supervisor starts as root and later changes its user; otherwise it is
    privileged only inside its user namespace. ``settings`` is the supervisor's argument, in JSON.
    """
    arguments = [find_bubblewrap(), *([] if as_root else ["--unshare-user"]), *_NAMESPACES, "--cap-add", "ALL"]
    # With masked files in this /proc, the kernel would forbid samples to mount /proc: samples mask files themselves.
    arguments += _visible(environment, limits, data_fds, masks=())
    return [*arguments, "--", str(environment.python), "-I", f"{HARNESS_FOLDER}/supervisor.py", settings]


@contextmanager
def identity_files(uid: int) -> Iterator[dict[str, int]]:
    """Yield path → descriptor of the sandbox's passwd, group and hosts files in /etc; close these at the end."""
    texts = {
        "/etc/passwd": f"root:x:0:0:root:/root:/bin/sh\nsandbox:x:{uid}:{uid}::{HOME_FOLDER}:/bin/sh\n",
        "/etc/group": f"root:x:0:\nsandbox:x:{uid}:\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    }
    with ExitStack() as stack:
        yield {name: stack.enter_context(memory_file("etc", text.encode())) for name, text in texts.items()}


@contextmanager
def memory_file(name: str, content: bytes) -> Iterator[int]:
    """Yield a descriptor, open during the ``with`` block, that reads ``content`` from a file in memory."""
    with os.fdopen(os.memfd_create(name), "r+b") as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()


@cache
def _readable_folder(folder: Path) -> Path:
    """Return ``folder``, or a readable copy (deleted at exit) if the sandbox's user may not read ``folder``."""
    paths = [folder, *folder.iterdir()]
    if os.getuid() or all(path.stat().st_mode & 0o004 for path in paths):
        return folder
    opened = Path(tempfile.mkdtemp(prefix="bigcodeflow-harness-"))
    atexit.register(shutil.rmtree, opened, ignore_errors=True)
    opened.chmod(0o755)
    for path in folder.glob("*.py"):
        copy = Path(shutil.copy(path, opened))
        copy.chmod(0o644)
    return opened


@cache
def masked_files() -> Sequence[str]:
    """Return the paths of the files in /proc that this kernel has and that sandboxes must hide from samples."""
    return [path for path in _MASKED if Path(path).exists()]


def _visible(
    environment: InstalledEnvironment, limits: LimitsConfig, data_fds: Mapping[str, int], *, masks: Sequence[str]
) -> list[str]:
    """Return bubblewrap's options for the files, devices and variables that a program sees in the sandbox."""
    disk_bytes = str(limits.disk_mib << 20)
    arguments = ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    arguments += [*_system_mounts(), "--proc", "/proc", *masks, "--dev", "/dev"]
    for folder in _WRITABLE_FOLDERS:
        arguments += ["--size", disk_bytes, "--perms", "1777", "--tmpfs", folder]
    mounts = [(_readable_folder(HOST_HARNESS_FOLDER), Path(HARNESS_FOLDER))]
    for path, inside in (*mounts, *((path, path) for path in environment.mounts)):
        for parent in reversed(inside.parents[:-1]):
            # bwrap makes missing parents accessible to root only; the sandbox's user must pass through them.
            arguments += ["--perms", "0755", "--dir", str(parent)]
        arguments += ["--ro-bind", str(path), str(inside)]
    for name, descriptor in data_fds.items():
        arguments += ["--perms", "0444", "--ro-bind-data", str(descriptor), name]
    for name, value in variables(environment).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", TEMPORARY_FOLDER]


@cache
def _system_mounts() -> tuple[str, ...]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _LINKED_FOLDERS:
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            arguments += ["--ro-bind", name, name]
    arguments += ["--perms", "0755", "--dir", "/etc"]
    files = [name for name in _SYSTEM_FILES if Path(name).exists()]
    return (*arguments, *(word for name in files for word in ("--ro-bind", name, name)))


class ColdProcess(SandboxedProcess):
    """Process that runs the harness from a command line (cold start); its standard input is the harness's channel."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        data_fds: Sequence[int] = (),
        variables: dict[str, str] | None = None,
        group: SlotGroup | None = None,
        bare: bool = False,
    ) -> None:
        """Start the process.

        Args:
            data_fds: descriptors that the process inherits.
            group: control group that ``command`` itself enters; None: no control group.
            bare: True if ``command`` runs the harness without a sandbox.
        """
        self.group, self._bare = group, bare
        self.channel, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                command,
                stdin=there.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=data_fds,
                env=variables or {},
                cwd="/",
                start_new_session=True,
            )
        self._streams = [stream for stream in (self._process.stdout, self._process.stderr) if stream]
        self.stdout, self.stderr = (stream.fileno() for stream in self._streams)
        self.ended = os.pidfd_open(self._process.pid)

    def roots(self) -> Sequence[int]:
        return (self._process.pid,)

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # bubblewrap's other processes end with the outermost process
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> ProcessEnd:
        code = self._process.wait()
        used = self.group.usage().cpu_seconds if self.group else None
        if code < 0 and self._bare:
            code = 128 - code  # the program may have killed itself; 'signal N' is for killed sandboxes only
        return ProcessEnd(f"exit {code}" if code >= 0 else f"signal {-code}", used or 0.0)

    def disk_blocks(self) -> int | None:
        return None  # bubblewrap ends before the first process inside, whose usage is then unknown

    def close(self) -> None:
        self.kill()
        self._process.wait()
        for stream in self._streams:
            stream.close()
        os.close(self.ended)
        self.channel.close()
