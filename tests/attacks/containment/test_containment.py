"""Programs that try to harm: none passes, no neighbour notices, and the machine is afterwards what it was before.

Each file under programs/ is one attack. Its docstring tells the threat, what it does, the statuses that it may have
(``Status``, else ``fail``), and what it shows when it went the whole way (``Shows``, else ``tried``); BREACH in its
output is what it must never show. The function ``attempt`` of the text that stands in front of the programs says
BREACH for everything that the sandbox let happen.
"""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict
from tests.attacks.conftest import selected, shared_out

from .attacks import ATTACKS, ATTEMPT, TEST, Attack
from .conftest import ATTACKS_TOGETHER, IN_FLIGHT, LIMITS, Machine, settled, state_of

# The first test of a kind of sandbox waits for all rounds.
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1800)]

_ATTACK_SECONDS = 2.5
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
    assert 0.1 < time.time() - started
    table = bytearray(b"x") * (64 << 20)
    thread = threading.Thread(target=client.sendall, args=(b"10",))
    thread.start()
    connection, _ = server.accept()
    thread.join()
    done = subprocess.run([sys.executable, "-c", "print(%s)" % connection.recv(2).decode()], stdout=subprocess.PIPE)
    return len(table) // (64 << 20) + sum(sizes) - 33 + int(done.stdout)
"""


class Round(NamedTuple):
    """Attacks that were executed at the same time, with honest neighbours."""

    verdicts: dict[str, dict]
    """Of the attacks, by name."""
    neighbours: list[dict]
    changes: list[str]
    """Names of what is not on the machine as it was before."""
    visitors: int
    clock_seconds: float
    """By how much the clock was set."""


def _judged(backend: Backend, program: str, time_seconds: float) -> dict:
    item = WorkItem("key", program, TEST, ("test_answer",), time_seconds, frozenset())
    return verdict(item, backend.execute(item), backend=backend.name, environment_sha="sha")


def _round(backend: Backend, machine: Machine, attacks: list[Attack]) -> Round:
    before, clock = state_of(machine), time.time() - time.monotonic()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        running = [pool.submit(_judged, backend, machine.filled_in(one.program), _ATTACK_SECONDS) for one in attacks]
        honest = [pool.submit(_judged, backend, _HONEST, LIMITS.time_seconds) for _ in range(IN_FLIGHT - len(attacks))]
        verdicts = {attack.name: one.result() for attack, one in zip(attacks, running, strict=True)}
        neighbours = [one.result() for one in honest]
    clock_seconds = abs(time.time() - time.monotonic() - clock)
    return Round(verdicts, neighbours, settled(machine, before), machine.visitors(), clock_seconds)


@pytest.fixture(scope="module")
def rounds(request: pytest.FixtureRequest, contained_backend: Backend, machine: Machine) -> dict[str, Round]:
    """Execute attacks of several kinds at a time; rounds by the names of their attacks."""
    attacks = selected(request, "attack")
    count = -(-len(attacks) // ATTACKS_TOGETHER)
    found = [_round(contained_backend, machine, attacks[number::count]) for number in range(count)]
    return {name: one for one in found for name in one.verdicts}


@pytest.mark.parametrize("attack", shared_out(ATTACKS, every=3))
def test_an_attack_harms_nothing(rounds: dict[str, Round], attack: Attack) -> None:
    """It fails, honest neighbours pass, nobody was reached, and nothing is left or changed on the machine."""
    mine = rounds[attack.name]
    attacked, suspects = mine.verdicts[attack.name], list(mine.verdicts)
    shown = attacked["stdout"] + attacked["stderr"]
    assert attacked["status"] in attack.statuses, attacked
    assert "BREACH" not in shown
    assert re.search(attack.shows, shown, re.DOTALL), attacked
    assert [one["status"] for one in mine.neighbours] == ["pass"] * len(mine.neighbours), (suspects, mine.neighbours)
    assert (mine.changes, mine.visitors) == ([], 0), suspects
    assert mine.clock_seconds < 1, suspects


def test_the_neighbour_is_honest_alone(contained_backend: Backend) -> None:
    """Beside nobody the neighbour passes too, so that what it fails of is the attack."""
    found = _judged(contained_backend, _HONEST, LIMITS.time_seconds)
    assert found["status"] == "pass", found


def test_an_attack_that_is_let_through_would_be_seen(contained_backend: Backend) -> None:
    """What succeeds is reported as a breach, so that the silence of the others means something."""
    found = _judged(contained_backend, ATTEMPT + "def task_func():\n    attempt('write', open, 'x', 'w')\n", 2.0)
    assert "BREACH: write" in found["stdout"]
