"""Measure the explorer's pages, the catalog and the report, on a store of many runs.

    python benchmarks/explorer.py [--models 40] [--nights 25] [--tasks 1140] [--keep FOLDER] [--rounds 9]

40 models on 25 nights are 1,000 runs of 1,140 tasks: the starter set's tasks, repeated, with made-up answers (see
explorer_store.py). First the catalog is built, and updated with nothing changed; then the report of 20 runs is written.
The explorer runs in a separate process; pages are asked for over loopback. A Markdown table
shows each page's first time and the median and the slowest of the rounds, from the request to the last byte, and the
explorer's CPU time for the first and for each further time, which other programs disturb less. Exit code 1 if the
median or the first time of any page exceeds 300 ms.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import httpx2
import psutil
from explorer_store import MadeUpModel, fill, starter_tasks

from bigcodeflow.report import select_runs, write_report
from bigcodeflow.results import CATALOG_NAME, rebuild_catalog

MOST_SECONDS = 0.3
_REPORTED_RUNS = 20


def models(number: int) -> list[MadeUpModel]:
    """Make models of both splits; the last one gets worse in the last night."""
    return [
        MadeUpModel(
            f"model-{place:02}",
            0.3 + 0.5 * place / number,
            "instruct" if place % 2 else "complete",
            last_skill=0.2 if place == number - 1 else None,
        )
        for place in range(number)
    ]


def addresses(root: Path) -> Mapping[str, str]:
    """Map the name of each page to its address."""
    with duckdb.connect(root / CATALOG_NAME, read_only=True) as catalog:
        rows = catalog.execute("SELECT record, run FROM runs ORDER BY started_at DESC").fetchall()
        # Skip the runs that the explorer compares at its start.
        latest, run = rows[1]
        earlier = next(record for record, name in rows[2:] if name == run)
        other = rows[3][0]
        task = catalog.execute("SELECT task_id FROM stored.tasks ORDER BY position OFFSET 700 LIMIT 1").fetchall()
    [(task_id,)] = task or [("Starter/0",)]
    return {
        "all runs": "/",
        "all runs, by model": "/?model=model-03",
        "all runs, page 10": "/?page=10&sort=score",
        "runs in progress": "/live",
        "what got worse": "/changes",
        "trends": "/trends",
        "trends of a model": "/trends?model=model-03",
        "a run": f"/runs/{latest}",
        "two nights compared": f"/compare?run={latest}&run={earlier}",
        "two models compared": f"/compare?run={latest}&run={other}",
        "all samples": "/samples",
        "samples by words": "/samples?q=attributeerror+median",
        "samples by phrase and model": "/samples?q=%22row+7%22+model-03&status=%21pass",
        "samples of difficult tasks": "/samples?difficulty=hard&status=pass",
        "samples of a run": f"/samples?run={latest}&status=%21pass",
        "programs of a run by words": f"/samples?run={latest}&q=import+math&deep=1",
        "a sample": f"/sample?run={latest}&task={task_id}",
    }


class Times:
    """Seconds of one page."""

    def __init__(self, client: httpx2.Client, address: str, rounds: int, process: psutil.Process) -> None:
        began = self._cpu(process)
        self.first = self._seconds(client, address)
        middle = self._cpu(process)
        self.others = [self._seconds(client, address) for _ in range(rounds)]
        self.cpu_first, self.cpu = middle - began, (self._cpu(process) - middle) / rounds

    def _cpu(self, process: psutil.Process) -> float:
        times = process.cpu_times()
        return times.user + times.system

    def _seconds(self, client: httpx2.Client, address: str) -> float:
        began = time.perf_counter()
        client.get(address).raise_for_status()
        return time.perf_counter() - began

    @property
    def median(self) -> float:
        return statistics.median(self.others)


def measure_catalog_and_report(root: Path) -> None:
    """Print the time of both."""
    (root / CATALOG_NAME).unlink(missing_ok=True)
    _print_cost("catalog, from nothing", lambda: rebuild_catalog(root))
    _print_cost("catalog, nothing changed", lambda: rebuild_catalog(root))
    runs = select_runs(root, [path.stem for path in sorted((root / "runs").glob("*.json"))[-_REPORTED_RUNS:]])
    _print_cost(f"report of {len(runs)} runs", lambda: write_report(runs, root / "report.html"))
    print(f"catalog {(root / CATALOG_NAME).stat().st_size / 1e6:.1f} MB, ", end="")
    print(f"report {(root / 'report.html').stat().st_size / 1e6:.1f} MB")


def _print_cost(name: str, call: Callable[[], object]) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    call()
    print(f"{name}: {time.perf_counter() - began:.2f} s of wall, {time.process_time() - cpu:.2f} s of CPU", flush=True)


def measure(root: Path, rounds: int, cache: Path) -> bool:
    """Print the time of each page; return True if all are fast enough."""
    command = [sys.executable, "-m", "bigcodeflow.explorer.server", str(root), "127.0.0.1", "0"]
    environment = {"XDG_CACHE_HOME": str(cache), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            with httpx2.Client(base_url=process.stdout.readline().strip(), timeout=300, trust_env=False) as client:
                client.get("/health").raise_for_status()
                server = psutil.Process(process.pid)
                found = {name: Times(client, address, rounds, server) for name, address in addresses(root).items()}
        finally:
            process.terminate()
    print("| page | first ms | median ms | slowest ms | CPU ms first | CPU ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, times in found.items():
        slowest = max(times.others)
        seconds = (times.first, times.median, slowest, times.cpu_first, times.cpu)
        print(f"| {name} | {' | '.join(f'{1000 * one:.0f}' for one in seconds)} |")
    return all(max(times.median, times.first) <= MOST_SECONDS for times in found.values())


def main() -> None:
    """Fill a store and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--nights", type=int, default=25)
    parser.add_argument("--tasks", type=int, default=1140)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--keep", type=Path, help="folder for the store; one that is there already is taken")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.keep or Path(temporary) / "store"
        if not root.is_dir():
            made = models(arguments.models)
            fill(root, made, nights=arguments.nights, tasks=starter_tasks(arguments.tasks), exact=False)
        n_runs = len(list((root / "runs").glob("*.json")))
        size = sum(path.stat().st_size for path in root.glob("*/*/*.parquet"))
        print(f"{n_runs:,} runs of {arguments.tasks:,} tasks; artifacts {size / 1e9:.2f} GB", flush=True)
        measure_catalog_and_report(root)
        sys.exit(0 if measure(root, arguments.rounds, Path(temporary)) else 1)


if __name__ == "__main__":
    main()
