"""The first process of a warm sandbox: makes the empty namespaces of each sample, and the first zygote.

Executed by path in the environment's interpreter, inside the outer sandbox, one process a worker. It stays bare, so
that what it forks is cheap, and ends with its control socket, which ends everything inside. Requests are JSON messages
with descriptors:

``namespaces``  [reply]    for one sample; replies on it with a descriptor of the process that holds them
``zygote``      [control]  a zygote without libraries, which then replies on its own control socket
"""

from __future__ import annotations

import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from bigcodeflow.sandbox import kernel
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import kernel

    sys.path.pop(0)

SAMPLE_ID = 1000
_TMPFS = kernel.NO_SUID | kernel.NO_DEVICES
_LOOK_SECONDS = 1.0
#: Even empty files take memory of the kernel's.
_LEAST_FILES, _BYTES_PER_FILE = 4096, 1 << 14


def main() -> None:
    """Take on an unprivileged identity in namespaces of its own, then serve until the control socket closes."""
    settings = json.loads(sys.argv[1])
    control = socket.socket(fileno=settings["control"])
    if os.getuid() == 0:
        os.setgroups([])
        # bubblewrap covers parts of the one it mounts for root, and nothing but a whole one allows others inside
        kernel.mount("proc", "/proc", _TMPFS | kernel.NO_EXECUTABLES)
    waiting, go = os.pipe()
    pid = kernel.clone(kernel.NEW_NAMESPACES | kernel.NEW_PID_NAMESPACE)
    if pid == 0:
        os.close(go)
        os.read(waiting, 1)
        os.close(waiting)
        Supervisor(control, settings).serve()
        os._exit(0)
    control.close()
    kernel.write_user_map(pid, 0, settings["user"], settings["group"])
    os.close(go)
    os._exit(os.waitpid(pid, 0)[1] and 1)


class Supervisor:
    """Serves the worker's requests one after the other."""

    def __init__(self, control: socket.socket, settings: dict[str, Any]) -> None:
        """Become root of the new user namespace, with file systems of its own."""
        self._control, self._settings = control, settings
        self._restrict = kernel.prepare_seccomp()
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        kernel.show_self()  # the maps of what is cloned are written by way of /proc
        mount_private_places(settings["disk_bytes"])
        if settings["home_template"]:
            shutil.copytree(settings["home_template"], os.environ["HOME"])  # libraries read it when they are imported

    def serve(self) -> None:
        """Answer requests until the worker is gone."""
        kernel.send(self._control, b"{}")
        while True:
            if select.select([self._control], [], [], _LOOK_SECONDS)[0]:
                data, descriptors = kernel.receive(self._control)
                if not data:
                    return
                self._answer(json.loads(data.decode("ascii")), descriptors[0])
                os.close(descriptors[0])
            reap()

    def _answer(self, request: dict[str, Any], descriptor: int) -> None:
        if request["op"] == "zygote":
            if os.fork() == 0:
                self._control.close()
                become_zygote(descriptor)
            return
        waiting, go = os.pipe()
        pid = kernel.clone(kernel.NEW_NAMESPACES | kernel.NEW_PID_NAMESPACE)
        if pid == 0:
            os.close(go)
            os.read(waiting, 1)
            hold_namespaces(descriptor, self._settings, self._restrict)
        os.close(waiting)
        kernel.write_user_map(pid, SAMPLE_ID, 0, 0)
        os.close(go)


def become_zygote(control: int) -> NoReturn:
    """In a new process: import the harness, and serve as a zygote without libraries."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    zygote: Any = importlib.import_module("zygote")
    sys.path.pop(0)
    zygote.serve(socket.socket(fileno=control))
    os._exit(0)


def hold_namespaces(reply: int, settings: dict[str, Any], restrict: Callable[[], None]) -> NoReturn:
    """Mount what the new namespaces need, reply with a descriptor of this process, and keep them until killed."""
    kernel.be_first_to_go()
    # On a writable /proc a sample could lower its oom_score_adj: only CAP_SYS_RESOURCE, rare in containers, fixes it.
    mount_private_places(settings["disk_bytes"], proc_flags=kernel.READ_ONLY)
    for path in settings["masked"]:
        kernel.mask(path)
    kernel.raise_loopback()
    os.setsid()
    kernel.send(socket.socket(fileno=reply), b"{}", [kernel.process_descriptor(os.getpid())])
    kernel.close_from(3)
    kernel.drop_privileges(kernel.IDLE_CAPABILITY)  # out of the sample's reach
    restrict()
    while True:
        reap()
        signal.sigtimedwait([signal.SIGCHLD], _LOOK_SECONDS)


def mount_private_places(disk_bytes: int, proc_flags: int = 0) -> None:
    """Cover every writable place, and what shows other processes and terminals, with new file systems."""
    size = f"size={disk_bytes},nr_inodes={max(_LEAST_FILES, disk_bytes // _BYTES_PER_FILE)},mode=1777"
    kernel.mount("tmpfs", "/tmp", _TMPFS, size)
    kernel.mount("tmpfs", "/dev/shm", _TMPFS, size)
    kernel.mount("devpts", "/dev/pts", kernel.NO_SUID | kernel.NO_EXECUTABLES, "newinstance,ptmxmode=0666")
    kernel.mount("proc", "/proc", _TMPFS | kernel.NO_EXECUTABLES | proc_flags)


def reap() -> None:
    """Collect ended children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
