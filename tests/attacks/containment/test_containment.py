"""Programs that try to harm: none passes, no neighbour notices, and the machine is afterwards what it was before.

Each file under programs/ is one attack, dressed as a wrong solution. Its docstring tells the threat, what it does, the
statuses that it may have, and what it shows when it went the whole way; BREACH in its output is what it must never
show. The function ``attempt`` that the programs use says BREACH for everything that the sandbox let happen.
"""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import verdict

from .attacks import ATTACKS, ATTEMPT, TEST, Attack
from .conftest import LIMITS, Machine, settled, state_of

pytestmark = pytest.mark.sandbox

_ATTACK_SECONDS = 2.5
_NEIGHBOUR_SECONDS = 30.0
"""Honest work of half a second; everything above is what an attack, and a busy machine, took from it."""
_HONEST = """import hashlib, multiprocessing, os, socket, subprocess, sys, tempfile, threading, time

def work(number):
    return len(hashlib.pbkdf2_hmac("sha256", b"x", b"y", 20000 * number))

def task_func():
    with tempfile.NamedTemporaryFile() as file, open("/dev/shm/mine", "wb") as shared:
        file.write(bytes(4 << 20))
        shared.write(bytes(4 << 20))
    with multiprocessing.Pool(2) as pool:
        sizes = pool.map(work, [1, 2])
    server = socket.create_server(("127.0.0.1", 8765))
    client = socket.create_connection(server.getsockname())
    started = time.time()
    time.sleep(0.2)
    assert 0.1 < time.time() - started < 20
    table = bytearray(b"x") * (64 << 20)
    thread = threading.Thread(target=client.sendall, args=(b"10",))
    thread.start()
    connection, _ = server.accept()
    thread.join()
    done = subprocess.run([sys.executable, "-c", "print(%s)" % connection.recv(2).decode()], stdout=subprocess.PIPE)
    return len(table) // (64 << 20) + sum(sizes) - 33 + int(done.stdout)
"""


def _judged(backend: Backend, program: str, time_seconds: float) -> dict:
    item = WorkItem("key", program, TEST, ("test_answer",), time_seconds, frozenset())
    return verdict(item, backend.execute(item), backend=backend.name, environment_sha="sha")


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_harms_nothing(contained_backend: Backend, machine: Machine, attack: Attack) -> None:
    """It fails, its honest neighbour passes, nobody was reached, and nothing is left or changed on the machine."""
    before, clock = state_of(machine), time.time() - time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(_judged, contained_backend, ATTEMPT + machine.filled_in(attack.program), _ATTACK_SECONDS)
        beside = pool.submit(_judged, contained_backend, _HONEST, LIMITS.time_seconds)
        attacked, neighbour = running.result(), beside.result()
    shown = attacked["stdout"] + attacked["stderr"]
    assert attacked["status"] in attack.statuses, attacked
    assert "BREACH" not in shown
    assert re.search(attack.shows, shown, re.DOTALL), attacked
    assert neighbour["status"] == "pass", neighbour
    assert neighbour["wall_seconds"] < _NEIGHBOUR_SECONDS
    assert settled(machine, before) == []
    assert machine.visitors() == 0
    assert abs(time.time() - time.monotonic() - clock) < 1


def test_the_neighbour_is_honest_alone(contained_backend: Backend) -> None:
    """Beside nobody the neighbour passes too, so that what it fails of is the attack."""
    found = _judged(contained_backend, _HONEST, LIMITS.time_seconds)
    assert found["status"] == "pass", found


def test_an_attack_that_is_let_through_would_be_seen(contained_backend: Backend) -> None:
    """What succeeds is reported as a breach, so that the silence of the others means something."""
    found = _judged(contained_backend, ATTEMPT + "def task_func():\n    attempt('write', open, 'x', 'w')\n", 2.0)
    assert "BREACH: write" in found["stdout"]
