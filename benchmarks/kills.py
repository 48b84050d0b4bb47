"""Kill a random tenth of the samples, and zygotes and workers, during execution; compare the verdicts.

    python benchmarks/kills.py --data ../shared [--samples 1000] [--share 0.1] [--seed 1]

Executes the same items undisturbed and disturbed. Prints what was killed and the results; exit code 1 if a verdict is
missing, appears twice, is an infra_error, or differs from the undisturbed verdict.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, ExecutionConfig
from bigcodeflow.execution import planning
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.judge.items import WorkItem

#: Percentage of the kills that hit a zygote and a worker; the others hit samples.
SHARES = {"zygote": 8, "worker": 2}
#: PID namespaces around a process: the machine's, the outer sandbox's, the supervisor's, and for samples another one.
NAMESPACES_OF_ZYGOTE, NAMESPACES_OF_SAMPLE = 3, 4


class Killer(threading.Thread):
    """Thread that sends SIGKILL to random descendant processes, spread over the undisturbed duration of the work."""

    def __init__(self, kills: int, seed: int, *, seconds: float) -> None:
        super().__init__(daemon=True)
        self._pause_seconds = seconds / max(1, kills)
        self.killed: Counter[str] = Counter()
        self.over = threading.Event()
        self._left, self._chance = kills, random.Random(seed)

    def run(self) -> None:
        while self._left and not self.over.wait(self._chance.uniform(0.2, 1.6) * self._pause_seconds):
            kind = self._chance.choices(("sample", *SHARES), (100 - sum(SHARES.values()), *SHARES.values()))[0]
            found = victims(kind)
            if found:
                with suppress(ProcessLookupError):
                    os.kill(self._chance.choice(found), signal.SIGKILL)
                    self.killed[kind] += 1
                    self._left -= 1


def victims(kind: str) -> list[int]:
    """Return the descendant processes of that kind."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error, OSError):
            if kind_of(process) == kind:
                found.append(process.pid)
    return found


def kind_of(process: psutil.Process) -> str:
    """Return "sample", "zygote", "worker", or "" for any other process."""
    command = " ".join(process.cmdline())
    if "multiprocessing.forkserver" in command:
        return "worker"
    if "supervisor.py" not in command:
        return ""
    status = Path(f"/proc/{process.pid}/status").read_text()
    numbers = next(line for line in status.splitlines() if line.startswith("NSpid")).split()[1:]
    if len(numbers) == NAMESPACES_OF_SAMPLE and numbers[-1] != "1":
        return "sample"
    return "zygote" if len(numbers) == NAMESPACES_OF_ZYGOTE and numbers[-1] != "1" else ""


def items_of(data: Path, count: int) -> list[WorkItem]:
    """Return `count` items: ground truths of quick tasks, repeated as needed; a comment distinguishes the copies."""
    view = DatasetConfig(source=str(data / "data" / "bigcodebench-v0.1.4.parquet"))
    tasks = datasets.load_tasks(view, datasets.resolve(view))
    environment = find_environment("bigcodebench")
    planned = planning.plan_ground_truths(
        tasks, config=ExecutionConfig(environment="bigcodebench"), environment=environment
    )
    quick = [plan.item for plan in planned if plan.item.expected_seconds < 2]
    found = (
        replace(item, verdict_key=f"{item.verdict_key}-{copy}", program=f"{item.program}\n# copy {copy}\n")
        for copy in range(1 + count // len(quick))
        for item in quick
    )
    return [item for item, _ in zip(found, range(count), strict=False)]


def execute(items: list[WorkItem], folder: Path) -> list[dict[str, Any]]:
    environment = find_environment("bigcodebench")
    config = ExecutionConfig(environment="bigcodebench")
    execute_items(items, config=config, environment=environment, ledger_folder=folder)
    return list(Ledger(folder).read())


def main() -> None:
    arguments = _arguments()
    items = items_of(arguments.data, arguments.samples)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        calm, rough = Path(name) / "calm", Path(name) / "rough"
        calm.mkdir()
        rough.mkdir()
        began = time.monotonic()
        expected = {line["verdict_key"]: line["status"] for line in execute(items, calm)}
        between = time.monotonic()
        killer = Killer(int(len(items) * arguments.share), arguments.seed, seconds=between - began)
        killer.start()
        lines = execute(items, rough)
        ended = time.monotonic()
        killer.over.set()
    final = [line for line in lines if line["status"] != "infra_error"]
    times = Counter(line["verdict_key"] for line in final)
    missing = sum(item.verdict_key not in times for item in items)
    twice = sum(number > 1 for number in times.values())
    different = [line for line in final if line["status"] != expected[line["verdict_key"]]]
    repeated = sum(line["attempts"] > 1 for line in final)
    print("| samples | killed | missing | executed twice | repeated | differing | s undisturbed | s disturbed |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    killed = ", ".join(f"{number} {kind}s" for kind, number in killer.killed.items())
    seconds = f"{between - began:.0f} | {ended - between:.0f}"
    print(f"| {len(items):,} | {killed} | {missing} | {twice} | {repeated} | {len(different)} | {seconds} |")
    for line in different:
        print(f"{line['verdict_key']}: {expected[line['verdict_key']]} became {line['status']} ({line['exit']})")
    sys.exit(1 if missing or twice or different else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.1, help="kills for each sample")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
