"""The command line that puts the harness into a sandbox of its own.

As root the sandbox drops to an unprivileged user without any capability; as an ordinary user it lives in a user
namespace. Both see a read-only system, the environment and one sized temporary folder; no network but loopback.
"""

import shutil
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.errors import SandboxUnavailableError

HARNESS_FOLDER = "/harness"
TEMPORARY_FOLDER = "/tmp"  # noqa: S108 -- the sandbox's own, as are the next two
WORK_FOLDER = f"{TEMPORARY_FOLDER}/work"
HOME_FOLDER = f"{TEMPORARY_FOLDER}/home"
_WRITABLE_FOLDERS = ("/dev/shm", TEMPORARY_FOLDER)  # noqa: S108
#: Nobody's id. Sandboxes run under ids counted up from here, so that the process limit counts each alone.
_FIRST_UID = 0x7000_0000
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
) -> list[str]:
    """Argument vector that runs the harness isolated.

    Args:
        environment: interpreter and libraries to show.
        harness_folder: host folder with the harness's files.
        limits: sizes of what is writable.
        uid: user id inside.
        data_fds: files to make inside, path → descriptor that holds the content.
        as_root: whether the caller is root.
    """
    disk_bytes = str(limits.disk_mib << 20)
    arguments = [find_bubblewrap(), *_namespaces(uid, as_root=as_root)]
    arguments += ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    arguments += _system_mounts()
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    for folder in _WRITABLE_FOLDERS:
        arguments += ["--size", disk_bytes, "--perms", "1777", "--tmpfs", folder]
    for path in (harness_folder, *environment.mounts):
        inside = Path(HARNESS_FOLDER) if path == harness_folder else path
        arguments += [*_parents(inside), "--ro-bind", str(path), str(inside)]
    for name, descriptor in data_fds.items():
        arguments += ["--perms", "0444", "--ro-bind-data", str(descriptor), name]
    for name, value in variables(environment).items():
        arguments += ["--setenv", name, value]
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", TEMPORARY_FOLDER, "--"]
    if as_root:
        arguments += ["/usr/bin/setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
        arguments += ["--inh-caps=-all", "--bounding-set=-all"]
    return [*arguments, str(environment.python), "-I", f"{HARNESS_FOLDER}/harness.py"]


def identity_files(uid: int) -> dict[str, bytes]:
    """The few files under /etc that name users and hosts."""
    return {
        "/etc/passwd": f"root:x:0:0:root:/root:/bin/sh\nsandbox:x:{uid}:{uid}::{HOME_FOLDER}:/bin/sh\n".encode(),
        "/etc/group": f"root:x:0:\nsandbox:x:{uid}:\n".encode(),
        "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost\n",
    }


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


def _parents(path: Path) -> list[str]:
    # bwrap makes missing parents for root alone; the sandbox's user has to pass through them.
    return [word for parent in reversed(path.parents[:-1]) for word in ("--perms", "0755", "--dir", str(parent))]
