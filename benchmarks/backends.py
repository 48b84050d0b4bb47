"""Compare each backend with the local one: samples per second, and the cost of a sample beyond its test.

    python benchmarks/backends.py --backends local,http,docker [--samples 450] [--rounds 3] [--set SETTING=VALUE]

Executes ground truths of the starter set, each with a different comment so that no two are equal, in rounds that take
the backends in turn. Services for http and gradio are started here, on loopback; docker needs an engine and the image
(`bigcodeflow env build starter --backend docker`), e2b needs a key and a template. --doubles replaces both needs: the
tests start an engine and fill it, and E2B is replaced by the tests' double, whose sandboxes are processes of this
machine. Prints a Markdown table.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from bigcodeflow.config import ExecutionConfig, RunConfig, load_settings
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.execution.planning import plan_ground_truths
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from bigcodeflow.judge.environments import Environment, find_environment
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.stages import stage_of
from bigcodeflow.store import open_store

_SERVICES = {
    "http": ["-c", "from bigcodeflow.cli.main import main; main()", "serve"],
    "gradio": ["-m", "bigcodeflow.serving.space"],
}
_START_SECONDS = 120.0


class Round(NamedTuple):
    """One pass over all samples."""

    wall_seconds: float
    client_cpu_seconds: float
    test_cpu_seconds: float
    passed: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="local,http", help="names, by commas; local comes first in any case")
    parser.add_argument("--samples", type=int, default=450, help="executions a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--set", action="append", default=[], help="a setting, such as execution.docker.containers=2")
    parser.add_argument("--doubles", action="store_true", help="the tests' own container engine and cloud, as root")
    given = parser.parse_args()
    names = list(dict.fromkeys(["local", *given.backends.split(",")]))
    with ExitStack() as stack:
        if given.doubles:
            try:
                given.set += stack.enter_context(doubles(names))
            except SandboxUnavailableError as error:
                sys.exit(f"{error}")
        rounds: dict[str, list[Round]] = {name: [] for name in names}
        backends = {name: stack.enter_context(_ready(name, given.set, given.samples)) for name in names}
        for number in range(given.rounds):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                backend, environment, items = backends[name]
                rounds[name].append(_measured(backend, environment, items))
    _print(rounds, given.samples)


@contextmanager
def doubles(names: Sequence[str], environment: str = "starter") -> Iterator[list[str]]:
    """Start stand-ins for an engine (with the environment's image) and for E2B; yield the settings that select them."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import pytest

    from tests.extensions.hosts.docker_engine import build, engine, import_base
    from tests.extensions.hosts.e2b_cloud import cloud

    with ExitStack() as stack:
        settings = []
        if "docker" in names:
            try:
                settings.append(f"execution.docker.url={engine().url}")
            except pytest.skip.Exception as error:
                raise SandboxUnavailableError(str(error)) from None
            if environment != "starter":  # an image of gigabytes, built here from the interpreter
                here = find_environment(environment)
                build(engine(), environment, import_base(engine(), here.python.resolve()), here.root / "data")
        if "e2b" in names:
            patched = stack.enter_context(pytest.MonkeyPatch.context())
            stack.enter_context(cloud(patched, Path(stack.enter_context(tempfile.TemporaryDirectory()))))
            settings.append(f"execution.e2b.sandboxes={len(os.sched_getaffinity(0))}")
        yield settings


@contextmanager
def _ready(name: str, settings: Sequence[str], count: int) -> Iterator[tuple[Backend, Environment, Sequence[WorkItem]]]:
    """Yield a backend that has executed a third of the samples once to warm up."""
    with ExitStack() as stack:
        url = stack.enter_context(_service(name)) if name in _SERVICES else ""
        given = {"execution": {"backend": name, "service": {"url": url}}}
        config = load_settings(given, "benchmark", tuple(settings))
        environment = execution_environment(config.execution)
        backend = make_backend(config.execution, environment, cores=len(os.sched_getaffinity(0)))
        stack.enter_context(closing(backend))
        backend.check()
        items = backend.prepare(_items(config, config.execution, environment, count))
        _measured(backend, environment, items[: count // 3])
        yield backend, environment, items


def _items(config: RunConfig, execution: ExecutionConfig, environment: Environment, count: int) -> list[WorkItem]:
    with tempfile.TemporaryDirectory() as folder:
        table, _ = stage_of("dataset", Resolver().up_to_sanitizing(config), {}).compute(
            open_store(folder), lambda *_, **__: None
        )
    planned = plan_ground_truths(table, config=execution, environment=environment)
    made: list[WorkItem] = []
    while len(made) < count:
        base = planned[len(made) % len(planned)].item
        made.append(_numbered(base, len(made)))
    return made


def _numbered(item: WorkItem, number: int) -> WorkItem:
    return replace(item, verdict_key=f"{number}-{item.verdict_key}", program=f"{item.program}\n# {number}\n")


def _measured(backend: Backend, environment: Environment, items: Sequence[WorkItem]) -> Round:
    cpu, began = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(8 * len(os.sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(backend.execute, items))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    rows = [
        verdict(item, outcome, backend=backend.name, environment_sha=environment.environment_sha)
        for item, outcome in zip(items, outcomes, strict=True)
    ]
    test_cpu = sum(row["test_cpu_seconds"] for row in rows)
    return Round(wall, cpu, test_cpu, sum(row["status"] == "pass" for row in rows))


@contextmanager
def _service(name: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *_SERVICES[name], "--environment", "starter", "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(url, process)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(url + "/health", timeout=5):
                return
        except URLError as error:
            if hasattr(error, "code"):
                return  # the service answers, with any status
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"the service at {url} did not start")


def _print(rounds: dict[str, list[Round]], samples: int) -> None:
    base = statistics.median(one.wall_seconds for one in rounds["local"])
    print(f"{samples} ground truths of the starter set, median of {len(rounds['local'])} rounds in turn\n")
    print("| backend | wall | samples a second | beside local | a sample beyond local | client CPU a sample | passed |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, own in rounds.items():
        wall = statistics.median(one.wall_seconds for one in own)
        cpu = statistics.median(one.client_cpu_seconds for one in own)
        print(
            f"| {name} | {wall:.1f} s | {samples / wall:.1f} | {base / wall:.2f} | "
            f"{(wall - base) / samples * 1000:+.1f} ms | {cpu / samples * 1000:.1f} ms | {own[-1].passed} |"
        )


if __name__ == "__main__":
    main()
