"""Measure the store's cost per artifact, in a folder and on S3 over loopback, and the cost of a cached run on S3.

    python benchmarks/store.py [--rows 1140] [--artifacts 20] [--runs 10,1000]

Needs moto (a development dependency): an S3 API in this process, so that its time is part of every figure of S3. Each
figure is the median over the artifacts; an artifact is a verdicts table of --rows rows, with texts of a typical size.
Prints a Markdown table; the seconds of a starter run of five tasks, first and cached, on both; and the seconds to find
the verdicts of one stage in stores with the given numbers of recorded runs, each with different verdicts.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from bigcodeflow.config import load_settings
from bigcodeflow.core.schemas import VERDICTS
from bigcodeflow.execution.verdict_index import VerdictIndex
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.store import ArtifactRef, Store, open_store
from tests.store.s3 import new_bucket, s3_server


def main() -> None:
    """Measure both kinds of store and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1140)
    parser.add_argument("--artifacts", type=int, default=20)
    parser.add_argument("--runs", default="10,1000", help="numbers of recorded runs, or nothing to leave this out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, s3_server(Path(name) / "replicas"):
        folder = Path(name)
        locations = {"folder": str(folder / "store"), "s3 over loopback": f"s3://{new_bucket()}/store"}
        print("| per artifact, ms | " + " | ".join(locations) + " |\n|---|---|---|")
        costs = [_costs(location, folder, _table(given.rows), given.artifacts) for location in locations.values()]
        for what in costs[0]:
            print(f"| {what} | " + " | ".join(f"{1000 * cost[what]:.1f}" for cost in costs) + " |")
        print("\n| starter run of five tasks, s | first | cached |\n|---|---|---|")
        for kind, location in locations.items():
            first, cached = _run(f"{location}-run", folder), _run(f"{location}-run", folder)
            print(f"| {kind} | {first:.2f} | {cached:.2f} |")
        print("\n| find the verdicts of one stage, s | first on this machine | again |\n|---|---|---|")
        for runs in [int(number) for number in given.runs.split(",") if number]:
            for kind, location in locations.items():
                first, again = _lookups(f"{location}-{runs}", given.rows, runs)
                print(f"| {runs} runs, {kind} | {first:.2f} | {again:.3f} |")


def _table(rows: int) -> pa.Table:
    """Make verdicts whose texts do not compress well."""
    rest = {field.name: _empty(field.type) for field in VERDICTS if not field.nullable}
    lines = [rest | {"task_id": f"Task/{number}", "stdout": os.urandom(300).hex()} for number in range(rows)]
    return pa.Table.from_pylist(lines, schema=VERDICTS)


def _empty(kind: pa.DataType) -> object:
    if pa.types.is_list(kind):
        return []
    if pa.types.is_string(kind):
        return ""
    return False if pa.types.is_boolean(kind) else 0


def _costs(location: str, folder: Path, table: pa.Table, artifacts: int) -> dict[str, float]:
    store, refs = open_store(location), []
    store.find("execution", "warm up")

    def publish(number: int) -> None:
        refs.append(store.publish("execution", f"key-{number}", table, settings={}))

    costs = {"publish": _median(publish, range(artifacts))}
    costs["find and check, seen before"] = _median(
        lambda number: store.find("execution", f"key-{number}"), range(artifacts)
    )
    costs["read, seen before"] = _median(store.read, refs)
    before, other = os.environ["BIGCODEFLOW_REPLICAS"], str(folder / "another machine")
    os.environ["BIGCODEFLOW_REPLICAS"] = other
    elsewhere: Store = open_store(location)
    read: Callable[[ArtifactRef], object] = elsewhere.read
    costs["read on another machine, first time"] = _median(read, refs)
    os.environ["BIGCODEFLOW_REPLICAS"] = before
    began = time.perf_counter()
    store.published("execution")
    costs["list all, seen before"] = (time.perf_counter() - began) / artifacts
    return costs


def _lookups(location: str, rows: int, runs: int) -> tuple[float, float]:
    """Return the seconds to find the verdicts of the middle run: the first time, and the median of five more."""
    store, wanted = open_store(location), list[str]()
    for run in range(runs):
        table = _table(rows)
        keys = [f"{run}-{row}" for row in range(rows)]
        table = table.set_column(VERDICTS.get_field_index("verdict_key"), VERDICTS.field("verdict_key"), [keys])
        store.publish("execution", f"key-{run}", table, settings={})
        if run == runs // 2:
            wanted = keys
    seconds = []
    for _ in range(6):
        began = time.perf_counter()
        found = VerdictIndex(open_store(location)).verdicts(wanted)
        seconds.append(time.perf_counter() - began)
        if len(found) != rows:
            sys.exit(f"{len(found)} of {rows} verdicts were found")
    return seconds[0], statistics.median(seconds[1:])


def _median(call: Callable[..., object], over: object) -> float:
    seconds = []
    for one in list(over):  # type: ignore[call-overload]
        began = time.perf_counter()
        call(one)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


class _Silent:
    def begin(self, _title: str) -> Callable[..., None]:
        return lambda *_: None

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        pass


def _run(location: str, folder: Path) -> float:
    settings = {"store": location, "out": str(folder / "out"), "dataset": {"source": "starter", "ids": "0-4"}}
    began = time.perf_counter()
    perform_all(resolve(load_settings(settings, "benchmark")), _Silent())
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
