"""A service in this process, whose queue can be looked into, and one as a process of its own."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from bigcodeflow.core.listening import listening
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import Outcome
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.judge.service.app import ServiceServer, make_app
from bigcodeflow.judge.service.request_parsing import ServingSettings
from bigcodeflow.judge.service.service import Service
from tests.attacks.conftest import work
from tests.attacks.reading import Exhibit

KEY = "the-key-of-these-tests"
TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
"""
RIGHT = "def task_func():\n    return 42\n"


class Served(NamedTuple):
    """A service that answers."""

    service: Service
    url: str
    client: httpx2.Client


def client_of(url: str, key: str = KEY) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=120)


@contextmanager
def served(
    environment: InstalledEnvironment, settings: ServingSettings, *, cores: int = 1, slots_per_core: int = 8
) -> Iterator[Served]:
    """A service in a thread of this process."""
    pool = ExecutorPool(environment, cores=cores, slots_per_core=slots_per_core)
    service = Service(pool, pool.check(ExecutionMode(settings.limits)), settings)
    with listening("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = ServiceServer(make_app(service), service)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            with client_of(url, settings.key) as client:
                yield Served(service, url, client)
        finally:
            server.should_exit = True
            thread.join(30)
            pool.close()
            service.close()


def item(name: str, program: str = RIGHT, test: str = TEST, **more: Any) -> dict[str, Any]:
    return {"id": name, "program": program, "test": test} | more


def sleeper(name: str, seconds: float) -> dict[str, Any]:
    """An item that passes after a while, and differs from those of other names."""
    return item(name, f"import time\ndef task_func():\n    time.sleep({seconds})\n    return 42  # {name}\n")


def program(name: str, seconds: float = 0.0) -> WorkItem:
    """The same as a work item, for backends."""
    text = f"import time\ndef task_func():\n    time.sleep({seconds})\n    return 42  # {name}\n"
    return work(text, Exhibit(text, TEST))


def passed(outcome: Outcome) -> bool:
    return [frame["outcome"] for frame in outcome.frames if frame["event"] == "test"] == ["pass"]


class ServiceProcess:
    """The command, as a process that can be killed."""

    def __init__(self, *options: str, port: int = 0) -> None:
        command = [Path(sys.executable).with_name("bigcodeflow"), "serve", "--environment", "starter", "--cores", "1"]
        self.process = subprocess.Popen(
            [*command, "--port", str(port), *options],
            env=os.environ | {"BIGCODEFLOW_SERVICE_KEY": KEY},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        assert " on http://" in line, line + self.process.stderr.read()
        self.url = line.split()[-1]
        self.port = int(self.url.rpartition(":")[2])

    def end(self, number: int, seconds: float = 120.0) -> str:
        """Send a signal, wait, and give what was said on standard error."""
        self.process.send_signal(number)
        errors = self.process.communicate(timeout=seconds)[1]
        return str(errors)


def answers(url: str) -> bool:
    """Whether a space does, if only by asking for its key."""
    try:
        return httpx2.get(url, trust_env=False, timeout=120).status_code in {200, 401}
    except httpx2.HTTPError:
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def recorded_calls(server: socket.socket) -> Iterator[list[bytes]]:
    """The first bytes of each connection to a listening socket, which answers nothing."""
    calls: list[bytes] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                with server.accept()[0] as connection:
                    calls.append(connection.recv(200))

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield calls
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def until(true: Callable[[], object], seconds: float = 120.0) -> bool:
    """Wait until something holds; false where it does not in that time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
