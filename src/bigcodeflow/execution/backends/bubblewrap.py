"""The command line that puts the harness into a sandbox of its own.

As root the sandbox drops to an unprivileged user without any capability; as an ordinary user it lives in a user
namespace. Both see a read-only system, the environment and one sized temporary folder; no network but loopback, no
terminal, no descriptor of the executor's. Where the machine runs out of memory, the sandbox's processes go first.
"""

import shutil
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.environments import InstalledEnvironment

HARNESS_FOLDER = "/harness"
TEMPORARY_FOLDER = "/tmp"  # noqa: S108 -- the sandbox's own, as are the next two
WORK_FOLDER = f"{TEMPORARY_FOLDER}/work"
HOME_FOLDER = f"{TEMPORARY_FOLDER}/home"
_WRITABLE_FOLDERS = ("/dev/shm", TEMPORARY_FOLDER)  # noqa: S108
#: Nobody's id. Sandboxes run under ids counted up from here, so that the process limit counts each alone.
_FIRST_UID = 0x7000_0000
#: User and group of a sample inside a warm sandbox's cell; sandbox/supervisor.py maps it.
SAMPLE_ID = 1000
_SYSTEM_FILES = (
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl",
)
_NAMES = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
#: What /proc tells of the whole machine or of its users' keys, whatever the namespaces.
_MASKED = (
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/sched_debug",
    "/proc/timer_list",
)
#: The memory of bubblewrap's own process inside: a fellow user's where the executor is no root, without a filter of
#: system calls.
_MASKED_MEMORY = ("/proc/1/mem", "/proc/1/task/1/mem")
#: Makes itself the first that the kernel kills for memory, enters control groups, and becomes the sandbox. A group that
#: refuses costs the sample one limit of several.
_LAUNCHER = """{ echo 1000 >/proc/self/oom_score_adj
while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; } 2>/dev/null
shift
exec "$@"
"""


@cache
def find_bubblewrap() -> str:
    """Path of the bwrap program.

    Raises:
        SandboxUnavailableError: it is not installed.
    """
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxUnavailableError(
            "bubblewrap is not installed, so generated code cannot be isolated: install it (apt-get install "
            "bubblewrap), or pass --allow-unisolated on a machine that you can lose"
        )
    return path


def sandbox_uid() -> int:
    """User id for the sandbox of the calling thread; distinct among those that run at the same time on this machine."""
    return _FIRST_UID + threading.get_native_id()


def variables(environment: InstalledEnvironment) -> dict[str, str]:
    """The whole environment of a sandboxed program."""
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
    harness_folder: Path,
    limits: LimitsConfig,
    uid: int,
    data_fds: Mapping[str, int],
    as_root: bool,
    seccomp_fd: int | None = None,
    group_entries: Sequence[str] = (),
) -> list[str]:
    """Argument vector that runs the harness isolated.

    Args:
        environment: interpreter and libraries to show.
        harness_folder: host folder with the harness's files.
        limits: sizes of what is writable.
        uid: user id inside.
        data_fds: files to make inside, path → descriptor that holds the content.
        as_root: whether the caller is root.
        seccomp_fd: descriptor that holds the filter of system calls; None does without.
        group_entries: cgroup.procs files of the control group to enter.
    """
    arguments = [*_launcher(group_entries), find_bubblewrap(), *_namespaces(uid, as_root=as_root)]
    if seccomp_fd is not None:
        arguments += ["--seccomp", str(seccomp_fd)]
    arguments += [*_shown(environment, harness_folder, limits, data_fds, masks=_masks()), "--"]
    if as_root:
        arguments += ["/usr/bin/setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
        arguments += ["--inh-caps=-all", "--bounding-set=-all"]
    return [*arguments, str(environment.python), "-I", f"{HARNESS_FOLDER}/harness.py"]


def supervisor_command(
    *,
    environment: InstalledEnvironment,
    harness_folder: Path,
    limits: LimitsConfig,
    data_fds: Mapping[str, int],
    as_root: bool,
    settings: str,
) -> list[str]:
    """Argument vector that runs the supervisor of a warm sandbox, which makes the samples' own namespaces inside.

    It shows what ``command`` shows, and leaves the supervisor the privileges that namespaces ask for: as root for the
    moment until it has become nobody, as an ordinary user in the user namespace only.

    Args:
        environment: interpreter and libraries to show.
        harness_folder: host folder with the harness's files.
        limits: sizes of what is writable.
        data_fds: files to make inside, path → descriptor that holds the content.
        as_root: whether the caller is root.
        settings: the supervisor's, as JSON.
    """
    namespaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    arguments = [find_bubblewrap(), *([] if as_root else ["--unshare-user"]), *namespaces, "--cap-add", "ALL"]
    # A /proc with masked files would forbid the cells one of their own: they mask what they show themselves.
    arguments += _shown(environment, harness_folder, limits, data_fds, masks=())
    return [*arguments, "--", str(environment.python), "-I", f"{HARNESS_FOLDER}/supervisor.py", settings]


def identity_files(uid: int) -> dict[str, bytes]:
    """The few files under /etc that name users and hosts."""
    return {
        "/etc/passwd": f"root:x:0:0:root:/root:/bin/sh\nsandbox:x:{uid}:{uid}::{HOME_FOLDER}:/bin/sh\n".encode(),
        "/etc/group": f"root:x:0:\nsandbox:x:{uid}:\n".encode(),
        "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost\n",
    }


def _shown(
    environment: InstalledEnvironment,
    harness_folder: Path,
    limits: LimitsConfig,
    data_fds: Mapping[str, int],
    *,
    masks: Sequence[str],
) -> list[str]:
    """What is there to be seen inside: files, devices and variables."""
    disk_bytes = str(limits.disk_mib << 20)
    arguments = ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    arguments += [*_system_mounts(), "--proc", "/proc", *masks, "--dev", "/dev"]
    for folder in _WRITABLE_FOLDERS:
        arguments += ["--size", disk_bytes, "--perms", "1777", "--tmpfs", folder]
    for path in (harness_folder, *environment.mounts):
        inside = Path(HARNESS_FOLDER) if path == harness_folder else path
        arguments += [*_parents(inside), "--ro-bind", str(path), str(inside)]
    for name, descriptor in data_fds.items():
        arguments += ["--perms", "0444", "--ro-bind-data", str(descriptor), name]
    for name, value in variables(environment).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", TEMPORARY_FOLDER]


def _launcher(group_entries: Sequence[str]) -> Sequence[str]:
    return ["/bin/sh", "-c", _LAUNCHER, "launcher", *group_entries, "--"]


def _namespaces(uid: int, *, as_root: bool) -> Sequence[str]:
    shared = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    if as_root:
        return [*shared, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    return ["--unshare-user", "--disable-userns", "--uid", str(uid), "--gid", str(uid), *shared]


@cache
def _system_mounts() -> tuple[str, ...]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _NAMES:
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            arguments += ["--ro-bind", name, name]
    arguments += ["--perms", "0755", "--dir", "/etc"]
    for name in _SYSTEM_FILES:
        if Path(name).exists():
            arguments += ["--ro-bind", name, name]
    return tuple(arguments)


@cache
def masked_files() -> Sequence[str]:
    """Those files of /proc that this kernel has and no sample is to see."""
    return [path for path in _MASKED if Path(path).exists()]


@cache
def _masks() -> tuple[str, ...]:
    masked = (*_MASKED_MEMORY, *masked_files())
    masks = [word for path in masked for word in ("--ro-bind", "/dev/null", path)]
    return (*masks, "--remount-ro", "/proc")  # also, so that nobody inside lowers its own oom_score_adj


def _parents(path: Path) -> list[str]:
    # bwrap makes missing parents for root alone; the sandbox's user has to pass through them.
    return [word for parent in reversed(path.parents[:-1]) for word in ("--perms", "0755", "--dir", str(parent))]
