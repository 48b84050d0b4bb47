"""Recorded runs of small real tables to export: one of a model, one imported, and what reads them."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow.store import open_store
from tests.extensions.leaderboard.conftest import hub, lab  # noqa: F401 - fixtures
from tests.report.conftest import RunTables, failing_test
from tests.results.conftest import publish_run

STARTED, FINISHED = "2026-11-21T10:00:00+00:00", "2026-11-21T10:07:30+00:00"
HUB_TASKS = {"content": {"hub": "bigcode/bigcodebench", "version": "v0.1.4", "commit": "c" * 40}}
TRACE = 'Traceback (most recent call last):\n  File "__test__.py", line 4, in test_a\nAssertionError: 1 != 2\n'
HOSTILE = "\x1b[2J</script><b>\N{RIGHT-TO-LEFT OVERRIDE}\x00"


def three_tasks(folder: Path, answer: Callable[[int], dict[str, Any]], *, last: str, **verdict: Any) -> RunTables:
    """Three tasks with two samples each: passes, an assertion, a timeout, hostile texts, and one of status ``last``.

    ``answer`` gives columns of the answer by the sample's number; ``verdict`` are columns of all verdicts.
    """
    tables = RunTables(folder)
    for number, text in enumerate(("one", "two", "three")):
        texts = {"complete_prompt": f"def task_func(): # {text}\n", "canonical_solution": "    return 1\n"}
        texts |= {"instruct_prompt": f"Write {text}.", "test": "import unittest\nclass TestCases: ..."}
        tables.task(f"BigCodeBench/{number}", libs=["pandas"], domains=["Computation"], texts=texts)
    samples: list[tuple[str, dict[str, Any]]] = [
        ("pass", {}),
        ("fail", {"tests": [failing_test(trace=TRACE)]}),
        ("timeout", {"kind": "timeout", "exit": "killed: wall time"}),
        ("pass", {}),
        ("fail", {"kind": "import", "tests": [], "module_trace": HOSTILE, "solution": HOSTILE}),
        (last, {"kind": "infrastructure", "tests": [], "exit": "worker lost"}),
    ]
    for number, (status, more) in enumerate(samples):
        place = {"index": number % 2, "usage": answer(number)}
        tables.sample(f"BigCodeBench/{number // 2}", status, **place, **more, **verdict)
    return tables


def model_answer(number: int) -> dict[str, Any]:
    """What a model answered, with the request that was sent."""
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Complete: def task_func()"}]
    return {
        "raw_text": f"```python\nsolution {number % 2}\n```",
        "provider": "openai",
        "served_model": "nova-7b-2026-10-01",
        "request": json.dumps({"model": "nova-7b", "messages": turns, "temperature": 0.2}),
        "finish_reason": "length" if number == 2 else "stop",
        "reasoning": "Let me think." if number == 0 else None,
        "prompt_tokens": 100,
        "completion_tokens": 20 + number,
        "reasoning_tokens": 5,
        "cost_usd": 0.001,
        "latency_seconds": 1.5,
    }


def model_config(**changes: Any) -> dict[str, Any]:
    """The settings of a run that asked a model, as its record holds them."""
    given: dict[str, Any] = {
        "dataset": {"source": "bigcode/bigcodebench@v0.1.4"},
        "samples": {"source": "model"},
        "generation": {"model": "openai:nova-7b", "n_samples": 2, "sampling": {"temperature": 0.2, "max_tokens": 1280}},
        "execution": {"environment": "bigcodebench"},
        "aggregation": {"k": [1, 2]},
    }
    for section, values in changes.items():
        given[section] = given[section] | values
    return RunConfig.model_validate(given).model_dump(mode="json")


@pytest.fixture
def store_root(tmp_path: Path) -> Path:
    return tmp_path / "results" / "store"


@pytest.fixture(scope="session")
def model_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run that asked a model twice a task, one sample of which was not judged; tests copy it."""
    folder = tmp_path_factory.mktemp("model")
    tables = three_tasks(folder / "tables", model_answer, last="infra_error")
    publish_run(
        open_store(folder / "store"),
        tables,
        "20261121T100000.000000-nova",
        answers=tables.answers,
        metrics=tables.metrics((1, 2)),
        settings=HUB_TASKS,
        run="nova",
        model="nova-7b--main",
        started_at=STARTED,
        finished_at=FINISHED,
        config=model_config(),
    )
    return folder / "store"


@pytest.fixture
def model_run(model_store: Path, store_root: Path) -> RecordedRun:
    """The run of the model, in the test's own store."""
    shutil.copytree(model_store, store_root, dirs_exist_ok=True)
    return find_run(store_root, "nova")


@pytest.fixture(scope="session")
def imported_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with results of the original evaluator: no answers, no times, no settings; tests copy it."""
    folder = tmp_path_factory.mktemp("imported")
    unknown = dict.fromkeys(("wall_seconds", "cpu_seconds", "test_cpu_seconds", "max_rss_mib"))
    unknown |= {"backend": "imported", "environment_sha": "unknown", "sanitizer": "unknown"}
    tables = three_tasks(folder / "tables", lambda _: {"provider": "imported"}, last="fail", **unknown)
    nulls = {"limits": {"time_seconds": None}, "environment": None, "variants": ["calibrated"]}
    config = {
        "dataset": {"source": "bigcode/bigcodebench@v0.1.4", "split": "instruct", "subset": "full"},
        "samples": {"source": "m_eval_results.json"},
        "generation": {"model": None, "n_samples": 2, "sampling": {"temperature": 0.0, "top_p": None}},
        "execution": nulls,
        "sanitizing": {"mode": None},
    }
    metrics = tables.metrics((1,), split="instruct")
    metrics = metrics.filter([name != "ground_truth_rate" for name in metrics["metric"].to_pylist()])
    publish_run(
        open_store(folder / "store"),
        tables,
        "20250507T205600.000000-old",
        answers=tables.answers,
        metrics=metrics,
        settings=HUB_TASKS,
        without=("ground_truth",),
        run="old",
        model="acme--Old-7B--main",
        started_at="2025-05-07T20:56:00+00:00",
        finished_at="2025-05-07T20:56:00+00:00",
        config=config,
        imported={"file": "m_eval_results.json", "sha256": "0" * 64},
    )
    return folder / "store"


@pytest.fixture
def imported_run(imported_store: Path, store_root: Path) -> RecordedRun:
    """The imported run, in the test's own store."""
    shutil.copytree(imported_store, store_root, dirs_exist_ok=True)
    return find_run(store_root, "old")


@pytest.fixture(scope="session")
def readers() -> InstalledEnvironment:
    """The real programs that read exported runs, which need an environment of their own."""
    try:
        return find_environment("readers", "reader")
    except EnvironmentUnusableError as error:
        pytest.skip(str(error))


def read_by(readers: InstalledEnvironment, program: str, *arguments: str | Path, cwd: Path) -> Any:
    """What a program prints as its last line, as JSON, that runs with the real libraries and nothing of ours."""
    done = subprocess.run(
        [readers.python, "-I", "-c", program, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def serving(*command: str | Path, cwd: Path, health: str = "") -> Iterator[str]:
    """Address of a server on the loopback interface that answers at ``health``; its command names the port {port}."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    arguments = [str(one).replace("{port}", str(port)) for one in command]
    process = subprocess.Popen(arguments, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(240):
            with suppress(OSError), urllib.request.urlopen(f"{address}{health}", timeout=5):
                break
            time.sleep(0.5)
        else:
            pytest.fail("the server did not start")
        yield address
    finally:
        process.terminate()
        process.wait(60)
