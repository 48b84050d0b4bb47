"""Samples that attack the neighbours of one zygote, more of them at a time than a fixed range of descriptors holds."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest.protocol import CHANNEL
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem
from tests.execution.conftest import judged

from .attacks import TEST

pytestmark = pytest.mark.sandbox

_HONEST, _HOSTILE = 98, 14
_SECONDS_TOGETHER = 6
_SLEEPS = f"""import json, os, time
print(json.dumps(sorted(map(int, os.listdir("/proc/self/fd")))))
def task_func():
    time.sleep({_SECONDS_TOGETHER})
    return 42
"""
"""Lasts until every other sample has started, whatever the machine does beside."""
_WRITES_TO_EVERYTHING = """import json, os
WORD = json.dumps({"status": 256, "cpu_seconds": 1.0, "max_rss_mib": 1.0}).encode()
for descriptor in range(4, 1024):
    try:
        os.write(descriptor, WORD)
    except OSError:
        continue
def task_func():
    return 41
"""


@pytest.mark.slow
def test_a_sample_reaches_no_socket_of_its_neighbours(starter_environment: InstalledEnvironment) -> None:
    """Of 112 samples in flight in one zygote, no honest one ends by a word that a hostile one wrote."""
    backend = LocalBackend(starter_environment, LimitsConfig(time_seconds=60, memory_mib=300), warm=True)

    def judge(program: str) -> dict:
        return judged(backend, WorkItem("key", program, TEST, ("test_answer",), 60.0, frozenset()))

    with ThreadPoolExecutor(_HONEST + _HOSTILE) as pool:
        assert backend.check().warm
        honest = [pool.submit(judge, _SLEEPS) for _ in range(_HONEST)]
        hostile = [pool.submit(judge, _WRITES_TO_EVERYTHING) for _ in range(_HOSTILE)]
        found = [one.result() for one in honest]
        attacked = {one.result()["status"] for one in hostile}
    backend.close()
    assert [one["status"] for one in found] == ["pass"] * _HONEST
    assert {tuple(json.loads(one["stdout"])) for one in found} == {(0, 1, 2, 3, CHANNEL)}, (
        "3 is the folder that is listed"
    )
    assert attacked <= {"fail", "tampered"}
