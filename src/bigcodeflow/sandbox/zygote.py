"""A process with libraries imported that is forked for every sample, and for zygotes with more libraries.

It has one thread, and an error of its own ends it: the worker then starts another. Requests are JSON messages with
descriptors, on a control socket of its own:

``import``  []         import the named modules; answers with the number of ``threads`` and its own descriptor
``fork``    [control]  another zygote with the same libraries, which then answers on its own control socket
``sample``  [reply, channel, stdout, stderr, namespaces]  one sample in these namespaces; replies on ``reply`` with a
            descriptor of the new process, and when that ends with ``status``, ``cpu_seconds`` and ``max_rss_mib``
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from contextlib import contextmanager

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random
    from typing import Any, NoReturn

    from bigcodeflow.sandbox import harness, kernel
else:
    import harness
    import kernel

_CHANNEL = 3  # a sample's own highest descriptor
_OWN_PID_NAMESPACE = "/proc/self/ns/pid"


def serve(control: socket.socket) -> None:
    """Serve requests until the control socket closes."""
    harness.hide()  # libraries may have modules of the same names
    Zygote(control).serve()


class Zygote:
    """Forks samples and collects how they ended."""

    def __init__(self, control: socket.socket, generators: Iterable[Random] = ()) -> None:
        """Take the socket that requests come from, and the random generators that were made before."""
        self._control, self._generators = control, list(generators)
        self._samples: dict[int, int] = {}
        self._zygotes: list[int] = []
        self._restrict = kernel.prepare_seccomp()
        self._home = os.open(_OWN_PID_NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)
        self._wakeup, self._signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Answer requests and watch the samples until the worker is gone."""
        while True:
            ready = select.select([self._control.fileno(), self._wakeup], [], [])[0]
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
                self._collect()
            if self._control.fileno() in ready:
                data, descriptors = kernel.receive(self._control)
                if not data:
                    return
                request = json.loads(data.decode())
                getattr(self, "_" + request["op"])(request, *descriptors)

    def _import(self, request: dict[str, Any]) -> None:
        gc.disable()  # next to nothing that an import makes is garbage
        with generators_noted(request["modules"], self._generators):
            harness.import_modules(request["modules"])
        gc.freeze()  # what is here now is never looked at by a sample's collector, and so stays shared with it
        gc.enable()
        _send_process(self._control, os.getpid(), {"threads": len(os.listdir("/proc/self/task"))})

    def _fork(self, _request: dict[str, Any], control: int) -> None:
        pid = os.fork()
        if pid == 0:
            for descriptor in (self._wakeup, self._signalled, self._home, *self._samples.values()):
                os.close(descriptor)
            self._control.close()
            Zygote(socket.socket(fileno=control), self._generators).serve()
            os._exit(0)
        os.close(control)
        self._zygotes.append(pid)

    def _sample(self, _request: dict[str, Any], reply: int, *passed: int) -> None:
        kernel.join(passed[-1], kernel.NEW_PID_NAMESPACE)  # holds for children made from now on
        pid = os.fork()
        if pid == 0:
            self._become_sample(*passed)
        kernel.join(self._home, kernel.NEW_PID_NAMESPACE)
        for descriptor in passed:
            os.close(descriptor)
        self._samples[pid] = reply
        with socket.socket(fileno=os.dup(reply)) as connection:
            _send_process(connection, pid, {})

    def _become_sample(self, channel: int, stdout: int, stderr: int, own: int) -> NoReturn:
        """In the new process: enter its namespaces, give up every privilege, and run the harness; never returns."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            kernel.be_first_to_go()
            kernel.join(own, kernel.NEW_NAMESPACES)
            for number, descriptor in enumerate(beyond(_CHANNEL, (stdout, stderr, channel)), start=1):
                os.dup2(descriptor, number, inheritable=number < _CHANNEL)
            kernel.close_from(_CHANNEL + 1)  # the ends of the neighbours are reported on some of these
            os.setsid()
            kernel.drop_privileges()
            kernel.show_self()  # as a cold start has it
            reseed(self._generators)
            self._restrict()
            harness.run_sample(_CHANNEL)
        except BaseException:  # the boundary of the sample: whatever it is, no copy of the zygote may live on
            traceback.print_exc()
        finally:
            os._exit(1)

    def _collect(self) -> None:
        self._zygotes = [pid for pid in self._zygotes if not os.waitpid(pid, os.WNOHANG)[0]]
        for pid, reply in list(self._samples.items()):
            ended, status, used = os.wait4(pid, os.WNOHANG)
            if not ended:
                continue
            del self._samples[pid]
            cpu_seconds, max_rss_mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
            account = {"status": status, "cpu_seconds": cpu_seconds, "max_rss_mib": max_rss_mib}
            with socket.socket(fileno=reply) as connection:
                try:
                    connection.send(json.dumps(account).encode())
                except OSError:
                    continue  # the worker has given this sample up


def _send_process(connection: socket.socket, pid: int, reply: dict[str, int]) -> None:
    """Reply with a descriptor of a process."""
    descriptor = kernel.process_descriptor(pid)
    kernel.send(connection, json.dumps(reply).encode(), [descriptor])
    os.close(descriptor)


def beyond(highest: int, descriptors: Sequence[int]) -> list[int]:
    """The descriptors, each under a number above the highest, so that the numbers up to there can be given anew."""
    found = list(descriptors)
    while min(found) <= highest:
        found = [one if one > highest else os.dup(one) for one in found]
    return found


@contextmanager
def generators_noted(names: Sequence[str], found: list[Random]) -> Iterator[None]:
    """Add every generator that takes its seed from the system while the block runs: a cold start gives each another."""
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
    """Give the random generators that libraries made at import a state of this process's own."""
    for generator in generators:
        generator.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
