"""Run a service under full load for a long time, with a share of hostile completions; show its resources per minute.

    python benchmarks/soak_service.py [--minutes 60] [--hostile 0.05] [--clients 32] [--cores 2] [--environment starter]

Clients call /submit; each sends its next completion after the last one is judged; no two are equal. Prints a row per
minute: completions judged, refusals for a full queue, latency, and the resources of the service with all descendants:
processes, descriptors, memory (of its process; of all, with shared pages counted once) and temporary files. Then it
waits until the service is idle, ends it, and looks for leftovers.

Exit code 1 if an honest completion was judged wrongly or a hostile one passed, if processes, descriptors or files are
left, if memory grew after the service's store of results was full, or if the throughput of the last minute differs from
that of the first by more than --tolerance. If others use the machine too, throughput is compared per available CPU
second: the seconds of all cores, less those used by other programs.
"""

import argparse
import itertools
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import httpx2
import psutil

from bigcodeflow.judge.host.observation import usage_of

_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
"""
_KEY = "the-key-of-this-soak"
_SECONDS = 2.0
#: Honest completions by expected verdict; all kinds are equally frequent.
_HONEST = {
    "pass": "def task_func():\n    return sum(range({work})) * 0 + 42  # {number}\n",
    "fail": "def task_func():\n    return sum(range({work})) * 0 + 41  # {number}\n",
    "imports": "import json, statistics\ndef task_func():\n    return int(statistics.mean([42, {number} * 0 + 42]))\n",
}
_EXPECTED = {"pass": True, "fail": False, "imports": True}
_END = "def task_func():\n    return 41\n"
#: They write to every descriptor, signal every process, leave daemons, close all that is open, or never end.
_ATTACKS = {
    "writes": """import json, os
word = json.dumps({"status": 256, "cpu_seconds": 1.0, "max_rss_mib": 1.0}).encode()
for descriptor in range(4, 4096):
    try:
        os.write(descriptor, word)
    except OSError:
        pass
"""
    + _END,
    "signals": "import os\nos.kill(-1, 9)\n" + _END,
    "daemons": """import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
"""
    + _END,
    "closes": "import os\nos.closerange(0, 4096)\n" + _END,
    "loops": "def task_func():\n    while True:\n        pass\n",
    "memory": "def task_func():\n    x = []\n    while True:\n        x.append(b'x' * 10**7)\n",
    "forks": "import os\ndef task_func():\n    while True:\n        os.fork()\n",
    "files": "def task_func():\n    file = open('x', 'wb')\n    while True:\n        file.write(bytes(10**6))\n",
    "output": "def task_func():\n    while True:\n        print('x' * 10**6)\n",
}
_COLUMNS = ("minute", "judged", "CPU s left", "429", "median s", "p95 s")
_COLUMNS += ("processes", "descriptors", "own MiB", "all MiB", "files")
#: Results are kept for ten minutes, so that memory grows until then.
_MINUTES_TO_FILL = 12
_MEMORY_MIB = 32.0
_SECONDS_TO_SETTLE = 15.0


class Held(NamedTuple):
    """Resources that the service and all its descendants hold."""

    processes: int
    descriptors: int
    own_mib: float
    all_mib: float
    files: int

    def row(self) -> str:
        """Return the figures as cells of a table."""
        own = f"{self.own_mib:.0f} | {self.all_mib:.0f}"
        return f"{self.processes} | {self.descriptors} | {own} | {self.files}"


@dataclass
class Minute:
    """Events of one minute."""

    judged: int = 0
    busy: int = 0
    seconds: list[float] = field(default_factory=list)
    left_cpu_seconds: float = 0.0
    """CPU seconds of all cores, less those that other programs took."""


@dataclass
class Load:
    """Clients and the answers that they received."""

    url: str
    hostile: float
    until: float = 0.0
    minutes: list[Minute] = field(default_factory=lambda: [Minute()])
    results: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, seed: int) -> None:
        """Run one client until the time is over."""
        chance = random.Random(seed)
        with httpx2.Client(base_url=self.url, auth=("soak", _KEY), timeout=120, trust_env=False) as client:
            while time.monotonic() < self.until:
                kind, program = self._drawn(chance)
                began = time.monotonic()
                config = {"provided_data": {"test": _TEST}, "run_timeout": _SECONDS}
                body = {"dataset": "", "id": kind, "completion": program, "config": config}
                answer = client.post("/submit", json=body)
                self._note(kind, answer, time.monotonic() - began)
                if answer.status_code != 200:
                    time.sleep(float(answer.headers.get("retry-after", "1")))

    def _drawn(self, chance: random.Random) -> tuple[str, str]:
        number = next(self.numbers)
        if chance.random() < self.hostile:
            kind = chance.choice(sorted(_ATTACKS))
            return kind, f"{_ATTACKS[kind]}# {number}\n"
        kind = chance.choice(sorted(_HONEST))
        return kind, _HONEST[kind].format(number=number, work=chance.randrange(10**5, 10**6))

    def _note(self, kind: str, answer: httpx2.Response, seconds: float) -> None:
        with self.lock:
            minute = self.minutes[-1]
            if answer.status_code == 429:
                minute.busy += 1
                return
            minute.judged += 1
            minute.seconds.append(seconds)
            found = answer.json()
            status = found["extra"]["verdict"]["status"] if answer.status_code == 200 else str(answer.status_code)
            self.results[f"{'honest' if kind in _HONEST else kind}: {status}"] += 1
            accepted = found.get("accepted")
            # A failure of the machine is no verdict, and clients repeat it; anything else must be right.
            if answer.status_code != 504 and accepted is not _EXPECTED.get(kind, False):
                self.wrong.append(f"{kind}: {answer.text[:500]}")


def main() -> None:
    """Load the service, print the figures, and judge them."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder, _service(arguments, Path(folder)) as (process, url):
        load = Load(url, 1.0)
        load.until = time.monotonic() + 5
        load.ask(0)  # each kind of process has existed once
        time.sleep(_SECONDS_TO_SETTLE / 3)
        before = _held(process, Path(folder))
        print(f"| {' | '.join(_COLUMNS)} |")
        print(f"|{' --- |' * len(_COLUMNS)}\n| idle |  |  |  |  |  | {before.row()} |", flush=True)
        load = Load(url, arguments.hostile)
        rows = _loaded(load, arguments, process, Path(folder))
        after = _settled(process, Path(folder), before)
        print(f"| idle |  |  |  |  |  | {after.row()} |")
        children = process.children(recursive=True)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        left = [one.pid for one in psutil.wait_procs(children, timeout=10)[1]]
        files = len(list(Path(folder).rglob("*")))
    for name, count in sorted(load.results.items()):
        print(f"{name}: {count}")
    problems = _problems(load, rows, before, after, arguments.tolerance)
    problems += [f"after its end: {len(left)} processes, {files} files"] if left or files else []
    print("\n".join(problems) or "nothing is left, nothing was judged wrongly")
    sys.exit(1 if problems else 0)


def _loaded(load: Load, arguments: argparse.Namespace, process: psutil.Process, folder: Path) -> list[Held]:
    """Run the clients; return the resources of the service at the end of each minute."""
    rows: list[Held] = []
    load.until = time.monotonic() + 60 * arguments.minutes
    with ThreadPoolExecutor(arguments.clients) as pool:
        clients = [pool.submit(load.ask, seed) for seed in range(1, arguments.clients + 1)]
        began = _left_cpu_seconds(process)
        for number in range(1, arguments.minutes + 1):
            time.sleep(max(0.0, load.until - 60 * (arguments.minutes - number) - time.monotonic()))
            with load.lock:
                done = load.minutes[-1]
                if number < arguments.minutes:
                    load.minutes.append(Minute())
            began, done.left_cpu_seconds = (now := _left_cpu_seconds(process)), now - began
            rows.append(_held(process, folder))
            at = sorted(done.seconds) or [0.0]
            times = f"{statistics.median(at):.2f} | {at[int(0.95 * (len(at) - 1))]:.2f}"
            counts = f"{done.judged} | {done.left_cpu_seconds:.0f} | {done.busy}"
            print(f"| {number} | {counts} | {times} | {rows[-1].row()} |", flush=True)
        for client in clients:
            client.result()
    return rows


def _problems(load: Load, rows: list[Held], before: Held, after: Held, tolerance: float) -> list[str]:
    found = [f"judged wrongly: {line}" for line in load.wrong[:20]]
    for name in ("processes", "descriptors", "files"):
        more = getattr(after, name) - getattr(before, name)
        found += [f"{more} {name} more than before"] if more > 0 else []
    if len(rows) > _MINUTES_TO_FILL:
        for name in ("own_mib", "all_mib"):
            full = max(getattr(row, name) for row in rows[: _MINUTES_TO_FILL + 1])
            grown = getattr(rows[-1], name) - full
            found += [f"{name} grew by {grown:.0f} after minute {_MINUTES_TO_FILL}"] if grown > _MEMORY_MIB else []
    first, last = (one.judged / one.left_cpu_seconds for one in (load.minutes[0], load.minutes[-1]))
    print(f"judged by CPU second: {first:.1f} in the first minute, {last:.1f} in the last one ({last / first:.2f})")
    found += [f"throughput changed by {last / first - 1:+.0%}"] if abs(last / first - 1) > tolerance else []
    return found


@contextmanager
def _service(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[psutil.Process, str]]:
    """Start a separate service, whose temporary files are in a folder."""
    command = [Path(sys.executable).with_name("bigcodeflow"), "serve", "--environment", arguments.environment]
    command += ["--port", "0", "--cores", str(arguments.cores), "--memory-mib", "512", "--disk-mib", "64"]
    command += ["--processes", "64", "--max-queue", str(4 * arguments.clients)]
    environment = os.environ | {"BIGCODEFLOW_SERVICE_KEY": _KEY, "TMPDIR": str(folder)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout
        line = started.stdout.readline()
        try:
            yield psutil.Process(started.pid), line.split()[-1]
        finally:
            if started.poll() is None:
                started.kill()


def _held(process: psutil.Process, folder: Path) -> Held:
    found = [process, *process.children(recursive=True)]
    descriptors, pss = 0, 0
    for one in found:
        with suppress(psutil.Error):
            descriptors += one.num_fds()
            pss += one.memory_full_info().pss
    own = process.memory_info().rss
    return Held(len(found), descriptors, own / 2**20, pss / 2**20, sum(1 for _ in folder.rglob("*")))


def _left_cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of the machine since its start that were idle or used by the service."""
    times = psutil.cpu_times()
    return float(times.idle + times.iowait + usage_of([process.pid]).cpu_seconds)


def _settled(process: psutil.Process, folder: Path, before: Held) -> Held:
    """Return the resources when they are no more than before, or after a timeout."""
    give_up_at = time.monotonic() + _SECONDS_TO_SETTLE
    while True:
        now = _held(process, folder)
        more = (now.processes > before.processes, now.descriptors > before.descriptors, now.files > before.files)
        if not any(more) or time.monotonic() > give_up_at:
            return now
        time.sleep(0.5)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--hostile", type=float, default=0.05, help="share of the completions")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--environment", default="starter")
    parser.add_argument("--tolerance", type=float, default=0.1, help="of the throughput, last minute to first")
    return parser.parse_args()


if __name__ == "__main__":
    main()
