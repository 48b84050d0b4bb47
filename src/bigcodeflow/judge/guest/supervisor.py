"""Processes of a warm sandbox: the supervisor, which creates the namespaces of samples, and zygotes.

The supervisor is executed by path in the environment's interpreter, inside the outer sandbox, one process per worker.
It imports little, so that its forks are cheap. It ends when its control socket closes, which ends everything inside. A
zygote is a process with imported libraries; it forks every sample, and zygotes with more libraries. It has one thread,
and an error in it ends it: the worker then starts another. Requests are words with descriptors:

``namespaces``  [reply]  to the supervisor, for one sample; replies on ``reply`` with a pidfd of the namespaces' holder,
            and when it has ended with the blocks that its orphans read from the disk
``reap``    []         to the supervisor: send these blocks for all holders that have ended
``zygote``  [control]  to the supervisor: a zygote without libraries, which then replies on its own control socket
``import``  []         to a zygote, before a JSON list of modules; replies with its number of threads and its pidfd
``fork``    [control]  to a zygote: another with the same libraries, which then replies on its own control socket
``sample``  [reply, channel, stdout, stderr, namespaces]  to a zygote: one sample in these namespaces; replies on
            ``reply`` with a pidfd of the new process, and at its end with its status, CPU seconds, resident memory in
            KiB and blocks read from the disk

Code that runs for a sample touches memory pages that are shared between zygote and fork. Each touched page costs a page
fault and a copy, so the code for samples uses few calls and few objects.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # importing typing costs time, and the program would see it in sys.modules
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from random import Random
    from socket import SocketType as Socket
    from typing import Any, NoReturn

    from bigcodeflow.judge.guest import kernel
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import kernel

    sys.path.pop(0)

SAMPLE_ID = 1000
_TMPFS = kernel.NO_SUID | kernel.NO_DEVICES
_LOOK_SECONDS = 1.0
#: Limits on the number of files: even empty files use kernel memory.
_LEAST_FILES, _BYTES_PER_FILE = 4096, 1 << 14
_GENERATOR_BYTES = 624 * 4  # the state of a Mersenne Twister
_CHANNEL = 3  # the highest descriptor of a sample


def main() -> None:
    """Run the supervisor, as an unprivileged user in new namespaces, until the worker closes the control socket."""
    settings = json.loads(sys.argv[1])
    control = kernel.connection(settings["control"])
    if os.getuid() == 0:
        os.setgroups([])
        # For root, bubblewrap covers parts of /proc; mounting it again inside requires a complete one.
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
    users = settings["sample_users"]
    further = f"1 {settings['first_sample_user']} {users}" if users else ""
    kernel.write_user_map(pid, 0, settings["user"], settings["group"], further)
    os.close(go)
    os._exit(os.waitpid(pid, 0)[1] and 1)


class Supervisor:
    """First process of a warm sandbox; it answers the worker's requests one after the other."""

    def __init__(self, control: Socket, settings: dict[str, Any]) -> None:
        """Become root of the new user namespace, with private file systems."""
        self._control, self._settings = control, settings
        self._holders: dict[int, tuple[Socket, int]] = {}  # socket of the reply and user by pid
        self._users = list(range(1, settings["sample_users"] + 1))  # free users; empty if only one is mapped
        self._restrict = kernel.prepare_seccomp()
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        kernel.show_self()  # user maps of cloned processes are written through /proc
        mount_private_places(settings["disk_bytes"])

    def serve(self) -> None:
        """Answer requests until the worker closes the socket."""
        kernel.send(self._control, b"ready")
        while True:
            if select.select([self._control], [], [], _LOOK_SECONDS)[0]:
                data, descriptors = kernel.receive(self._control)
                if not data:
                    return
                if data == b"zygote":
                    if os.fork() == 0:
                        for connection in (self._control, *(reply for reply, _ in self._holders.values())):
                            connection.close()
                        become_zygote(descriptors[0], self._settings["home_template"])
                    os.close(descriptors[0])
                elif data == b"namespaces":
                    self._hold(descriptors[0])
            self._reap()

    def _hold(self, reply: int) -> None:
        """Start the process that holds a sample's namespaces.

        If several user ids are mapped, the process gets its own user id, because the kernel's quotas count per user.
        """
        # Drawn at random, so that the id tells a sample nothing about other samples.
        user = self._users.pop(os.urandom(1)[0] % len(self._users)) if self._users else 0
        os.setresuid(user, user, 0)
        kernel.show_self()  # another user cannot write its own map otherwise
        pid = kernel.clone(kernel.NEW_NAMESPACES | kernel.NEW_PID_NAMESPACE)
        if pid == 0:
            hold_namespaces(reply, self._settings, self._restrict, user)
        os.setresuid(0, 0, 0)
        kernel.show_self()
        self._holders[pid] = kernel.connection(reply), user

    def _reap(self) -> None:
        for pid, used in ended_children():
            if pid not in self._holders:
                continue
            connection, user = self._holders.pop(pid)
            self._users += [user] if user else []
            with suppress(OSError):  # the worker may have abandoned this sample
                connection.send(b"%d" % used.ru_inblock)
            connection.close()


def become_zygote(control: int, home_template: str) -> NoReturn:
    """Import the harness in this new process, and serve as a zygote without libraries."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    if TYPE_CHECKING:
        from bigcodeflow.judge.guest import harness
    else:
        import harness

    sys.path.pop(0)
    harness.hide()  # libraries may have modules of the same names
    harness.end_input()
    if home_template and not os.path.exists(os.environ["HOME"]):
        harness.make_home(home_template)  # libraries read it when they are imported
    Zygote(harness, control).serve()
    os._exit(0)


def hold_namespaces(reply: int, settings: dict[str, Any], restrict: Callable[[], None], user: int) -> NoReturn:
    """Mount the new namespaces' file systems, reply with this process's pidfd, and hold the namespaces until killed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
    kernel.write_user_map("self", SAMPLE_ID, user, 0)
    os.setresuid(SAMPLE_ID, SAMPLE_ID, SAMPLE_ID)
    kernel.show_self()
    kernel.be_first_to_go()
    kernel.limit_watching()
    # On a writable /proc a sample could lower its oom_score_adj: only CAP_SYS_RESOURCE, rare in containers, fixes it.
    mount_private_places(settings["disk_bytes"], proc_flags=kernel.READ_ONLY)
    for path in settings["masked"]:
        kernel.mask(path)
    kernel.raise_loopback()
    os.setsid()
    connection, own = kernel.connection(reply), kernel.process_descriptor(os.getpid())
    kernel.drop_privileges(kernel.IDLE_CAPABILITY)  # so the sample cannot inspect or trace this process
    restrict()
    kernel.send(connection, b"ready", own)  # not before: a sample would meet a process with all capabilities
    kernel.close_from(3)
    while True:
        signal.sigwait((signal.SIGCHLD,))
        for _ in ended_children():
            pass


def mount_private_places(disk_bytes: int, proc_flags: int = 0) -> None:
    """Mount new file systems over /tmp and /dev/shm (writable), /dev/pts (terminals) and /proc (processes)."""
    size = f"size={disk_bytes},nr_inodes={max(_LEAST_FILES, disk_bytes // _BYTES_PER_FILE)},mode=1777"
    kernel.mount("tmpfs", "/tmp", _TMPFS, size)
    kernel.mount("tmpfs", "/dev/shm", _TMPFS, size)
    kernel.mount("devpts", "/dev/pts", kernel.NO_SUID | kernel.NO_EXECUTABLES, "newinstance,ptmxmode=0666")
    kernel.mount("proc", "/proc", _TMPFS | kernel.NO_EXECUTABLES | proc_flags)


def ended_children() -> Iterator[tuple[int, Any]]:
    """Reap the children that have ended; yield the pid and the resource usage of each."""
    with suppress(ChildProcessError):
        while True:
            pid, _, used = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            yield pid, used


class Zygote:
    """Process with imported libraries, which forks samples and other zygotes, and reports the end of each sample."""

    def __init__(self, harness: Any, control: int, generators: Iterable[Random] = ()) -> None:
        """Store the harness module, the socket of requests, and the random generators that imports have created."""
        self._harness, self._control, self._generators = harness, kernel.connection(control), list(generators)
        self._children: dict[int, tuple[int, Socket | None]] = {}  # by pidfd: pid and socket for the exit report
        self._restrict = kernel.prepare_seccomp()
        self._home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def serve(self) -> None:
        """Answer requests and watch the samples until the worker closes the socket."""
        control = self._control.fileno()
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != control:
                    self._collect(descriptor)
                    continue
                data, descriptors = kernel.receive(self._control)
                if not data:
                    return
                if data == b"sample":
                    self._sample(*descriptors)
                elif data == b"fork":
                    self._fork(*descriptors)
                else:
                    self._import(json.loads(data[len(b"import") :]))

    def _import(self, modules: Sequence[str]) -> None:
        gc.disable()  # an import creates almost no garbage
        with generators_noted(modules, self._generators):
            self._harness.import_modules(modules)
        gc.freeze()  # a sample's garbage collector skips these objects, so their pages stay shared
        gc.enable()
        threads = len(os.listdir("/proc/self/task"))
        kernel.send(self._control, str(threads).encode(), kernel.process_descriptor(os.getpid()))

    def _fork(self, control: int) -> None:
        kernel.join(self._home, kernel.NEW_PID_NAMESPACE)
        pid = os.fork()
        if pid == 0:
            for descriptor, (_, reply) in self._children.items():
                os.close(descriptor)
                if reply:
                    reply.close()
            self._control.close()
            os.close(self._home)
            Zygote(self._harness, control, self._generators).serve()
            os._exit(0)
        os.close(control)
        self._watch(pid, None)

    def _sample(self, reply: int, *passed: int) -> None:
        kernel.join(passed[-1], kernel.NEW_PID_NAMESPACE)  # applies to children forked from now on
        pid = os.fork()
        if pid == 0:
            self._become_sample(*passed)
        for descriptor in passed:
            os.close(descriptor)
        connection = kernel.connection(reply)
        kernel.send(connection, b"forked", self._watch(pid, connection))

    def _watch(self, pid: int, reply: Socket | None) -> int:
        descriptor = kernel.process_descriptor(pid)
        self._children[descriptor] = pid, reply
        self._poll.register(descriptor, select.POLLIN)
        return descriptor

    def _become_sample(self, channel: int, stdout: int, stderr: int, own: int) -> NoReturn:
        """Enter the sample's namespaces (``own``), drop every privilege, and run the harness; never returns."""
        try:
            kernel.be_first_to_go()
            kernel.join(own, kernel.NEW_NAMESPACES)
            os.setresuid(SAMPLE_ID, SAMPLE_ID, SAMPLE_ID)
            for number, descriptor in enumerate(beyond(_CHANNEL, (stdout, stderr, channel)), start=1):
                os.dup2(descriptor, number, inheritable=number < _CHANNEL)
            kernel.close_from(_CHANNEL + 1)  # some of these are reply sockets of other samples
            os.setsid()
            kernel.drop_privileges()
            kernel.show_self()  # as after a cold start
            reseed(self._generators)
            self._restrict()
            self._harness.run_sample(_CHANNEL)
        except BaseException:  # catch everything: no copy of the zygote may survive
            sys.__excepthook__(*sys.exc_info())
        finally:
            os._exit(1)

    def _collect(self, descriptor: int) -> None:
        """Report the end of a sample to the worker; the end of a zygote is not reported: its socket closes."""
        pid, reply = self._children.pop(descriptor)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        _, status, used = os.wait4(pid, 0)
        if reply:
            with suppress(OSError):  # the worker may have abandoned this sample
                cpu_seconds = used.ru_utime + used.ru_stime
                reply.send(b"%d %f %d %d" % (status, cpu_seconds, used.ru_maxrss, used.ru_inblock))
            reply.close()


def beyond(highest: int, descriptors: Sequence[int]) -> list[int]:
    """Return duplicates of ``descriptors`` with numbers above ``highest``, so that lower numbers can be reassigned."""
    found = list(descriptors)
    while min(found) <= highest:
        found = [one if one > highest else os.dup(one) for one in found]
    return found


@contextmanager
def generators_noted(names: Sequence[str], found: list[Random]) -> Iterator[None]:
    """Append to ``found`` each random generator that is seeded without a value during the ``with`` block."""
    if "random" in names:
        importlib.import_module("random")
    random = sys.modules.get("random")
    if random is None:
        yield
        return
    genuine = random.Random.seed

    def seed(self: Random, a: Any = None, version: int = 2) -> None:
        if a is None:
            found.append(self)
        genuine(self, a, version)

    random.Random.seed = seed
    try:
        yield
    finally:
        random.Random.seed = genuine


def reseed(generators: Iterable[Random]) -> None:
    """Reseed ``generators``, which libraries created at import, and NumPy's generator, so that samples differ."""
    for generator in generators:
        generator.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        words = sys.modules["numpy"].frombuffer(os.urandom(_GENERATOR_BYTES), "uint32")
        numpy_random.set_state(("MT19937", words, len(words)))  # same effect as seed() with half the work


if __name__ == "__main__":
    main()
