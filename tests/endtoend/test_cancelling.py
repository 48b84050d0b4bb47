"""Runs that are cancelled from the UI: what they leave behind, and what is left to do."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.execution.ledger import Ledger
from tests.endtoend.conftest import Config, write_samples
from tests.endtoend.service import Processes, ServedRun, Service, wait_for
from tests.generation.providers.double import Completion, Received, model_server

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.long, pytest.mark.sandbox, pytest.mark.timeout(1800)]

#: What the product promises for everything that executes, on any machine.
_GONE_SECONDS = 10.0
#: The flow process itself, which says goodbye to the server: a few seconds where nothing else runs.
_FLOW_GONE_SECONDS = 60.0
_SAMPLES, _SLEEP_SECONDS = 16, 3.0


def verdicts_in(store: Path, *, slept_seconds: float = 0.0) -> list[str]:
    """Keys of the verdicts that unfinished executions have recorded so far; of those that took at least so long.

    A finished one publishes its artifact, and only then removes its ledger.
    """
    unfinished = (folder for folder in store.glob("execution/*.partial") if not folder.with_suffix("").exists())
    verdicts = (line for folder in unfinished for line in Ledger(folder).read())
    return [line["verdict_key"] for line in verdicts if line["wall_seconds"] >= slept_seconds]


def executions(store: Path) -> list[dict[str, Any]]:
    """What every finished execution counted."""
    texts = (path.read_text().rstrip() for path in store.glob("execution/*/manifest.json"))
    whole = (text for text in texts if text.endswith("}"))  # others are being written
    return [json.loads(text)["artifact"]["statistics"] for text in whole]


def gone(processes: Processes) -> None:
    """Wait until none of the processes is left, and for what executes no longer than was promised."""
    own = ("prefect.engine", "resource_tracker")
    started = time.monotonic()
    while alive := processes.alive():
        seconds = time.monotonic() - started
        executing = [command for command in alive.values() if not any(name in command for name in own)]
        assert seconds < _GONE_SECONDS or not executing, f"still there after {seconds:g} s: {executing}"
        assert seconds < _FLOW_GONE_SECONDS, f"still there after {seconds:g} s: {alive}"
        time.sleep(0.1)


def executing(service: Service, config: dict[str, Any], *, verdicts: int) -> ServedRun:
    """A run in the middle of executing samples: so many are judged, and others are in their sandboxes."""
    run = service.run(config)
    store = Path(config["store"])
    # Ground truths, which do not sleep, may execute beside the samples and end late.
    wait_for(lambda: len(verdicts_in(store, slept_seconds=_SLEEP_SECONDS)) >= verdicts, "verdicts of samples")
    return run


def retry_executes_the_rest(run: ServedRun, config: dict[str, Any]) -> None:
    """After a retry ground truths and samples are all executed, and none twice."""
    run.retry()
    run.ended("COMPLETED")
    for counted in executions(Path(config["store"])):
        assert (counted["executed"], counted["executed_twice"]) == (_SAMPLES, 0)


@pytest.fixture
def sleeping(config: Config, tmp_path: Path) -> dict[str, Any]:
    """A run whose samples sleep, two at a time."""
    samples = write_samples(tmp_path / "sleepers.jsonl", _SAMPLES, sleep_seconds=_SLEEP_SECONDS)
    execution = {"workers": 1, "slots_per_worker": 2}
    return config(tasks=_SAMPLES, samples={"source": str(samples)}, execution=execution)


def test_cancelled_run_ends_with_everything_below_it(service: Service, sleeping: dict[str, Any]) -> None:
    """Cancelling ends workers and sandboxes within 10 s; a retry then executes what was open, and nothing twice."""
    run = executing(service, sleeping, verdicts=2)
    processes = run.processes()
    assert processes.named("bwrap"), "no sandbox was running"
    assert len(processes.named("multiprocessing.forkserver")) > 1, "no Dask worker was running"
    run.cancel()
    gone(processes)
    assert run.ended()["name"] == "Cancelled"
    assert any("start the same run again" in line for line in run.log())
    judged = set(verdicts_in(Path(sleeping["store"]), slept_seconds=_SLEEP_SECONDS))
    assert 2 <= len(judged) < _SAMPLES
    retry_executes_the_rest(run, sleeping)


def test_killed_flow_process_takes_everything_below_it_along(service: Service, sleeping: dict[str, Any]) -> None:
    """A kill -9 of the flow process alone leaves no worker and no sandbox, and the run is reported as crashed."""
    run = executing(service, sleeping, verdicts=2)
    processes = run.processes()
    [engine] = processes.named("prefect.engine")
    engine.kill()
    gone(processes)
    assert run.ended()["name"] == "Crashed"
    run.reported_crashed()
    retry_executes_the_rest(run, sleeping)


def test_cancelled_generation_keeps_what_came_and_asks_for_the_rest_alone(service: Service, config: Config) -> None:
    """Requests in flight are dropped within 10 s, answers that came are kept, and a retry asks for the others only."""
    slow = True

    def answer(_: Received) -> Completion:
        hangs = slow and len(server.requests) > 3
        return Completion("```python\ndef task_func():\n    return 1\n```", latency_seconds=60.0 if hangs else 0.05)

    with model_server(answer) as server:
        model = {"model": "openai:m", "base_url": server.url("openai"), "requests": {"concurrency": 2}}
        settings = config(
            tasks=6, samples={"source": "model"}, sanitizing={"mode": "parity"}, generation=model | {"n_samples": 1}
        )
        run = service.run(settings)
        wait_for(lambda: len(server.requests) >= 5, "requests that hang")
        processes = run.processes()
        run.cancel()
        gone(processes)
        assert run.ended()["name"] == "Cancelled"
        slow, asked = False, len(server.requests)
        run.retry()
        run.ended("COMPLETED")
        assert len(server.requests) - asked == 6 - 3, "answers that had come were asked for again, or some never"
