"""The process of a service: its start, its end, what a killed one leaves, and runs whose service is killed."""

import json
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.items import WorkItem
from tests.attacks.conftest import LIMITS
from tests.conftest import Command
from tests.serving.services import KEY, TEST, ServiceProcess, client_of, item, passed, program, sleeper, until

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

Start = Callable[..., ServiceProcess]


def children(process: ServiceProcess) -> list[psutil.Process]:
    return psutil.Process(process.process.pid).children(recursive=True)


def asked(url: str, items: list[dict], found: list[dict]) -> threading.Thread:
    """A client that collects the lines that it gets."""

    def ask() -> None:
        with client_of(url) as client, client.stream("POST", "/v1/batches", json={"items": items}) as answer:
            found.extend(json.loads(line) for line in answer.iter_lines() if line)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly(service_process: Start, number: int) -> None:
    """What runs ends and is reported, what has not begun is left to its client, and no process is left."""
    service = service_process("--slots-per-core", "1")
    found: list[dict] = []
    thread = asked(service.url, [sleeper(str(number), 3.0) for number in range(5)], found)
    with client_of(service.url) as client:
        assert until(lambda: client.get("/v1/info").json()["executions"] == 1)
    assert until(lambda: children(service))
    left = children(service)
    errors = service.end(number)
    thread.join()
    assert service.process.returncode == 0
    assert "stopped: nothing runs any more" in errors
    assert [line["verdict"]["status"] for line in found] == ["pass"]
    assert not psutil.wait_procs(left, timeout=120)[1]


def test_a_service_that_is_killed_leaves_nothing(service_process: Start) -> None:
    """Its sandboxes end with it."""
    service = service_process()
    body = {"items": [sleeper(str(number), 60) for number in range(3)]}
    with client_of(service.url) as client, client.stream("POST", "/v1/batches", json=body) as answer:
        assert answer.status_code == 200
        with client_of(service.url) as other:
            assert until(lambda: other.get("/v1/info").json()["executions"] == 3)
        assert until(lambda: len(children(service)) >= 3)
        left = children(service)
        service.end(signal.SIGKILL)
    assert not psutil.wait_procs(left, timeout=120)[1]


def test_nothing_of_the_key_is_said(service_process: Start) -> None:
    """Neither at the start nor when it is given wrongly."""
    service = service_process()
    with client_of(service.url, KEY + "x") as client:
        assert client.get("/v1/info").status_code == 401
    errors = service.end(signal.SIGTERM)
    assert "clients need the key in BIGCODEFLOW_SERVICE_KEY" in errors
    assert KEY not in errors


def test_a_client_that_reads_nothing_does_not_stop_the_others(service_process: Start) -> None:
    """Megabytes of answers wait for a client that does not take them; another one is served."""
    service = service_process("--output-kib", "4096")
    noisy = "def task_func():\n    print('x' * (4 << 20))\n    return 42  # {}\n"
    body = json.dumps({"items": [item(str(number), noisy.format(number)) for number in range(8)]}).encode()
    head = f"POST /v1/batches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as deaf:
        deaf.sendall(head.encode() + body)
        with client_of(service.url) as client:
            assert until(lambda: client.get("/v1/info").json()["executions"] == 8)
            answer = client.post("/v1/batches", json={"items": [item("a")]})
            assert '"pass"' in answer.text
    with client_of(service.url) as client:
        assert until(lambda: client.get("/v1/info").json()["open_items"] == 0)


def test_others_are_not_served_without_a_key(bigcodeflow: Command) -> None:
    """The command says so in one line, and does not start."""
    arguments = ("serve", "--host", "0.0.0.0", "--environment", "starter")
    done = bigcodeflow(*arguments, check=False, BIGCODEFLOW_SERVICE_KEY="")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "error: whoever reaches 0.0.0.0 could execute programs here: set BIGCODEFLOW_SERVICE_KEY"
    )
    assert "Traceback" not in done.stderr


def config_of(service: ServiceProcess, **more: object) -> ExecutionConfig:
    return ExecutionConfig(backend="http", service=ServiceConfig(url=service.url), limits=LIMITS, workers=1, **more)


def executions(service: ServiceProcess) -> int:
    with client_of(service.url) as client:
        return client.get("/v1/info").json()["executions"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_service_that_comes_back_is_used_again(service_process: Start, with_key: None, number: int) -> None:
    """Killed or stopped with half of the items executed: all others are executed by the next one, and none is lost."""
    first = service_process()
    config = config_of(first)
    backend = make_backend(config, execution_environment(config), cores=1)
    items = [program(f"restarted {number} {index}", 0.2) for index in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(backend.execute, one) for one in items]
        assert until(lambda: sum(future.done() for future in found) >= 10)
        first.end(number)
        before = sum(future.done() for future in found)
        second = service_process(port=first.port)
        assert all(passed(future.result(timeout=120)) for future in found)
    backend.close()
    assert before < 40
    assert executions(second) <= 40 - before + 8


def test_the_fallback_finishes_what_a_killed_service_cannot_start(
    service_process: Start,
    with_key: None,
    starter_environment: InstalledEnvironment,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """kill -9: each item has one verdict, which names the backend that gave it, and the run says what happened."""
    service, ledger = service_process(), Ledger(tmp_path)
    program = "import time\ndef task_func():\n    time.sleep(0.5)\n    return {}"
    items = [
        WorkItem(f"{n:064x}", program.format(42 if n % 3 else n), TEST, ("test_answer",), 20.0, frozenset())
        for n in range(60)
    ]

    def die() -> None:
        assert until(lambda: len(list(ledger.read())) >= 10, 120)
        service.process.kill()

    config = config_of(service, fallback="local")
    environment = execution_environment(config)
    thread = threading.Thread(target=die)
    thread.start()
    execute_items(items, config=config, environment=environment, ledger_folder=tmp_path)
    thread.join()
    lines = list(ledger.read())
    assert Counter(line["verdict_key"] for line in lines) == Counter(item.verdict_key for item in items)
    statuses = {line["verdict_key"]: line["status"] for line in lines}
    assert statuses == {item.verdict_key: "pass" if "42" in item.program else "fail" for item in items}
    shas = {line["backend"]: line["environment_sha"] for line in lines}
    assert shas == {"http": environment.environment_sha, "local": starter_environment.environment_sha}
    assert any(message.startswith("backend local executes what http cannot start") for message in caplog.messages)
