"""Measure the cost of the tests: wall and CPU by file and fixture, processes started, seconds slept.

    SUITE_COSTS=FOLDER python -m pytest -p benchmarks.suite_costs -m "not slow" --numprocesses 4
    python benchmarks/suite_costs.py FOLDER [--by file|folder|test|fixture] [--most 40]

The first command loads this file as a plugin of pytest; it records a line for each phase of each test and for each
fixture of a module, package or session. CPU is that of the worker and of the processes for which it has waited; a
process that outlives its test counts for the test in which it ends. Prints a Markdown table, most expensive first.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_STARTED = {"processes": 0, "slept": 0.0}
_OUTPUT: list[Any] = []
_FIGURES = ("wall", "cpu", "processes", "slept")


def pytest_configure() -> None:
    """Start to count processes and sleeps; open the file of this process."""
    folder = Path(os.environ["SUITE_COSTS"])
    folder.mkdir(parents=True, exist_ok=True)
    _OUTPUT.append((folder / f"{os.getpid()}.jsonl").open("a", buffering=1))
    sys.addaudithook(_count)
    sleep = time.sleep

    def counting_sleep(seconds: float) -> None:
        _STARTED["slept"] += seconds
        sleep(seconds)

    time.sleep = counting_sleep


def pytest_collection_finish() -> None:
    """Record the cost of starting and collecting."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _write("collecting", "(start)", {"wall": 0.0, "cpu": used.ru_utime + used.ru_stime, "processes": 0, "slept": 0.0})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Record the setup phase of a test."""
    yield from _recorded("setup", item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Record the call phase of a test."""
    yield from _recorded("call", item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Record the teardown phase of a test."""
    yield from _recorded("teardown", item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    """Record a fixture that several tests share."""
    if fixturedef.scope == "function":
        return (yield)
    return (yield from _recorded("fixture", f"{fixturedef.baseid}::{fixturedef.argname}"))


def _count(event: str, _: object) -> None:
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
        _STARTED["processes"] += 1


def _now() -> dict[str, float]:
    own, waited = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = own.ru_utime + own.ru_stime + waited.ru_utime + waited.ru_stime
    return {"wall": time.monotonic(), "cpu": cpu, **_STARTED}


def _recorded(kind: str, name: str) -> Iterator[None]:
    before = _now()
    try:
        return (yield)
    finally:
        after = _now()
        _write(kind, name, {figure: after[figure] - before[figure] for figure in _FIGURES})


def _write(kind: str, name: str, figures: dict[str, float]) -> None:
    _OUTPUT[0].write(json.dumps({"kind": kind, "name": name} | figures) + "\n")


def main() -> None:
    """Print the recorded costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder that SUITE_COSTS named")
    parser.add_argument("--by", choices=("file", "folder", "test", "fixture"), default="file")
    parser.add_argument("--most", type=int, default=40, help="rows")
    arguments = parser.parse_args()
    rows = [json.loads(line) for path in arguments.folder.glob("*.jsonl") for line in path.open()]
    groups: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(_FIGURES, 0.0))
    for row in rows:
        if (row["kind"] == "fixture") is (arguments.by == "fixture"):
            for group in (_group(row["name"], arguments.by), "all"):
                for figure in _FIGURES:
                    groups[group][figure] += row[figure]
    print("| | wall s | CPU s | processes | slept s |\n| --- | ---: | ---: | ---: | ---: |")
    for name, figures in sorted(groups.items(), key=lambda one: -one[1]["wall"])[: arguments.most]:
        print("| " + " | ".join([name, *(f"{figures[figure]:.1f}" for figure in _FIGURES)]) + " |")


def _group(name: str, by: str) -> str:
    file = name.partition("::")[0]
    return {"file": file, "folder": file.rpartition("/")[0], "test": name.partition("[")[0], "fixture": name}[by]


if __name__ == "__main__":
    main()
