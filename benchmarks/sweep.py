"""Measure the seconds of a sweep whose stages are all in the store, against a running Prefect server.

    .venv/bin/python benchmarks/sweep.py --settings 50

Without PREFECT_API_URL a server is started first; its start is not counted.
"""

import argparse
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from prefect.testing.utilities import prefect_test_harness

from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.sweep_results import last_runs, plan_of
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel, SweepSetting, members_of
from bigcodeflow.recording import perform_and_record
from flows.sweep import sweep

_SERVER_SECONDS = 240


def cached_sweep(folder: Path, settings: int, ids: str) -> SweepConfig:
    """Return a sweep of `settings` settings with different aggregations; all of them are in the store and recorded."""
    config = SweepConfig(
        name="cached",
        models=(SweepModel(answers="oracle"),),
        settings=tuple(
            SweepSetting(name=f"k{number}", values={"aggregation.k": [1, 1 + number]})
            for number in range(1, settings + 1)
        ),
        common={"dataset.ids": ids},
        store=str(folder / "store"),
        out=str(folder / "out"),
    )
    with progress_listener() as listener:
        for member in members_of(config):
            perform_and_record(member.config, listener)
    return config


def main() -> None:
    """Print the seconds of each repetition, and of the parts that need no server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=int, default=50)
    parser.add_argument("--ids", default="", help="only these tasks of the starter set")
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        config = cached_sweep(Path(folder), given.settings, given.ids)
        began = time.process_time()
        recorded = last_runs(config.store)
        resolver = Resolver()
        plans = [plan_of(member, recorded.get(member.name), resolver) for member in members_of(config)]
        planned_seconds = time.process_time() - began
        if not all(plan.artifacts is not None and plan.recorded for plan in plans):
            raise SystemExit("the sweep is not cached")
        if not os.environ.get("PREFECT_API_URL"):
            stack.enter_context(prefect_test_harness(server_startup_timeout=_SERVER_SECONDS))
        seconds = []
        for _ in range(given.repetitions):
            began = time.monotonic()
            results = sweep(config)
            seconds.append(time.monotonic() - began)
            if [result.outcome for result in results] != ["reused"] * given.settings:
                raise SystemExit("something ran")
        load = os.getloadavg()[0]
    print(f"{given.settings} settings, load {load:.1f}")
    print(f"planned alone: {planned_seconds:.2f} s of CPU, {1000 * planned_seconds / given.settings:.0f} ms each")
    times = ", ".join(f"{one:.1f}" for one in seconds)
    print(f"sweep on a running server: {times} s; median {statistics.median(seconds):.1f} s")


if __name__ == "__main__":
    main()
