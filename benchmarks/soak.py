"""Run honest samples among hostile ones, as many at a time as one worker takes on 16 cores, all from one zygote.

    python benchmarks/soak.py [--samples 1000] [--slots 128] [--hostile 0.125] [--environment starter]

The hostile samples write to every descriptor, signal every process, leave daemons behind, or close all that is open.
Prints how both kinds ended and what was left; exit code 1 if an honest sample did not pass or printed the text of
another one, or if descriptors or processes are left.
"""

import argparse
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from typing import Any

import psutil

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import find_environment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import verdict

TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
"""
_HONEST = "import time\nprint('sample', {number})\ndef task_func():\n    time.sleep({seconds})\n    return 42\n"
HOSTILE = {
    "writes": """import json, os
word = json.dumps({"status": 256, "cpu_seconds": 1.0, "max_rss_mib": 1.0}).encode()
for descriptor in range(4, 4096):
    try:
        os.write(descriptor, word)
    except OSError:
        pass
""",
    "signals": "import os\nos.kill(-1, 9)\n",
    "daemons": """import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
""",
    "closes": "import os\nos.closerange(0, 4096)\n",
}
_WRONG = "def task_func():\n    return 41\n"
_SECONDS = (0.5, 6.0)
_SECONDS_TO_SETTLE = 10.0


def main() -> None:
    """Execute the samples, print the results, and judge them."""
    arguments = _arguments()
    chance = random.Random(1)
    kinds = ["honest"] * (arguments.samples - int(arguments.samples * arguments.hostile))
    kinds += [list(HOSTILE)[number % len(HOSTILE)] for number in range(arguments.samples - len(kinds))]
    chance.shuffle(kinds)
    programs = [_program(kind, number, chance.uniform(*_SECONDS)) for number, kind in enumerate(kinds)]
    backend = LocalBackend(find_environment(arguments.environment), LimitsConfig(time_seconds=60), warm=True)
    untouched = _held()
    with closing(backend):
        backend.check()
        time.sleep(_SECONDS_TO_SETTLE / 4)  # wait for the end of the sample that check() executed
        before, began = _held(), time.monotonic()
        with _most_in_flight(backend) as most, ThreadPoolExecutor(arguments.slots) as pool:
            found = list(pool.map(lambda program: _judged(backend, program), programs))
        seconds, left = time.monotonic() - began, _left(before)
    left_after_close = _left(untouched)
    statuses = Counter((kind, one["status"]) for kind, one in zip(kinds, found, strict=True))
    mixed = sum(
        kind == "honest" and one["status"] == "pass" and one["stdout"] != f"sample {number}\n"
        for number, (kind, one) in enumerate(zip(kinds, found, strict=True))
    )
    print("| samples | statuses |\n| --- | --- |")
    for kind in ("honest", *HOSTILE):
        counts = (f"{count} {status}" for (whose, status), count in sorted(statuses.items()) if whose == kind)
        print(f"| {kind} | {', '.join(counts)} |")
    print(f"in flight in one zygote: up to {max(most)}; {seconds:.0f} s; outputs of another sample: {mixed}")
    print(f"left between samples: {left}; after close: {left_after_close} (descriptors, processes)")
    honest = {status for kind, status in statuses if kind == "honest"}
    sys.exit(1 if honest != {"pass"} or mixed or any((*left, *left_after_close)) else 0)


def _program(kind: str, number: int, seconds: float) -> str:
    return _HONEST.format(number=number, seconds=seconds) if kind == "honest" else HOSTILE[kind] + _WRONG


def _judged(backend: LocalBackend, program: str) -> dict[str, Any]:
    item = WorkItem("", program, TEST, ("test_answer",), 60.0, frozenset())
    return verdict(item, backend.execute(item), backend=backend.name, environment_sha="")


@contextmanager
def _most_in_flight(backend: LocalBackend) -> Iterator[list[int]]:
    """Yield a list of the numbers of processes that the zygote without libraries has forked, read twice a second."""
    zygote, found, over = psutil.Process(backend.kept_warm().zygotes[frozenset()].pid), [0], threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            found.append(len(zygote.children()))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield found
    finally:
        over.set()
        looking.join()


def _held() -> tuple[int, int]:
    """Return the descriptors of this process and all its descendants, and the number of descendants."""
    descriptors = processes = 0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            descriptors += process.num_fds()
            processes += 1
    return descriptors, processes - 1


def _left(before: tuple[int, int]) -> tuple[int, int]:
    """Return the increase in descriptors and processes, after the kernel had time to finish what was killed."""
    give_up_at = time.monotonic() + _SECONDS_TO_SETTLE
    while True:
        time.sleep(0.2)
        now = _held()
        left = (max(0, now[0] - before[0]), max(0, now[1] - before[1]))
        if not any(left) or time.monotonic() > give_up_at:
            return left


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=128, help="samples at a time")
    parser.add_argument("--hostile", type=float, default=0.125, help="share of the samples")
    parser.add_argument("--environment", default="starter")
    return parser.parse_args()


if __name__ == "__main__":
    main()
