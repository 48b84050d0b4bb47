"""The same attacks where the executor is no root: user namespaces in the place of dropped privileges."""

import json
import os
import re
import time
from contextlib import suppress

import psutil
import pytest

from tests.execution.conftest import as_ordinary_user

from .attacks import ATTACKS, TEST, Attack
from .conftest import SECONDS_TO_SETTLE, Machine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sandbox,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user; for others every test is this one"),
]

_USER = 23456
_EXECUTOR = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict

asked = json.load(sys.stdin)
system = InstalledEnvironment("system", Path("/usr"), Path("/usr/bin/python3"), (), {}, "sha", ())
limits = LimitsConfig(time_seconds=12, memory_mib=300, processes=32, disk_mib=16, output_kib=4)
backend = LocalBackend(system, limits, warm=asked["warm"])
if backend.check().warm != asked["warm"]:
    sys.exit("an ordinary user cannot start warm here")

def judged(program):
    item = WorkItem("key", program, asked["test"], ("test_answer",), 8.0, frozenset())
    found = verdict(item, backend.execute(item), backend="local", environment_sha="sha")
    return found["status"], found["stdout"] + found["stderr"]

with ThreadPoolExecutor(4) as pool:
    results = dict(zip(asked["programs"], pool.map(judged, asked["programs"].values())))
backend.close()
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="module", params=[False, True], ids=["cold", "warm"])
def found(request: pytest.FixtureRequest, machine: Machine) -> dict[str, tuple[str, str]]:
    """Status and output of every attack, executed by an ordinary user."""
    programs = {attack.name: machine.filled_in(attack.program) for attack in ATTACKS}
    programs["honest"] = "def task_func():\n    return 42\n"
    asked = json.dumps({"test": TEST, "programs": programs, "warm": request.param})
    done = as_ordinary_user(_USER, _EXECUTOR, text=asked)
    assert done.returncode == 0, done.stderr
    return {name: tuple(result) for name, result in json.loads(done.stdout).items()}


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_harms_nothing(found: dict, attack: Attack) -> None:
    """It fails, shows no breach, and went as far as it does under root."""
    status, shown = found[attack.name]
    assert status in attack.statuses
    assert "BREACH" not in shown
    assert re.search(attack.shows, shown, re.DOTALL)


def test_honest_work_passes(found: dict) -> None:
    """What refuses the attacks does not refuse everything."""
    assert found["honest"][0] == "pass"


def test_no_process_of_the_user_is_left(found: dict) -> None:
    """Daemons, guards and bombs ended with their sandboxes."""
    assert found
    give_up_at = time.monotonic() + SECONDS_TO_SETTLE
    while (left := _processes_of_the_user()) and time.monotonic() < give_up_at:
        time.sleep(0.05)
    assert left == []


def _processes_of_the_user() -> list[str]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            if process.uids().real == _USER:
                found.append(" ".join(process.cmdline()))
    return found
