"""The client of a service, with everything between them that can go wrong."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import cycle, islice
from unittest.mock import Mock

import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.core.errors import ConfigError, EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from bigcodeflow.judge.environments import InstalledEnvironment, RemoteEnvironment
from bigcodeflow.judge.remote import backend as backend_module
from bigcodeflow.judge.remote import http_client
from bigcodeflow.judge.service.request_parsing import ServingSettings
from bigcodeflow_hosts import http
from bigcodeflow_hosts.http import HttpBackend
from tests.attacks.conftest import LIMITS
from tests.doubles.faulty_proxy import AFTER, BEFORE, FaultyProxy, faulty_proxy
from tests.serving.services import KEY, Served, passed, program, served

pytestmark = pytest.mark.sandbox

_SETTINGS = ServingSettings(key=KEY, limits=LIMITS, max_body_mib=1)
_QUICK = (
    "busy",
    "busy until no date",
    "unavailable",
    "cut in the middle of a line",
    "garbage",
    "cut before the request",
)
_FAULTS = [
    pytest.param(fault, marks=() if fault in _QUICK else pytest.mark.slow)
    for fault in (*BEFORE, *AFTER, "cut before the request")
]
Connect = Callable[..., HttpBackend]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)


@pytest.fixture(scope="module")
def service(starter_environment: InstalledEnvironment) -> Iterator[Served]:
    with served(starter_environment, _SETTINGS) as one:
        yield one


@pytest.fixture
def proxy(service: Served) -> Iterator[FaultyProxy]:
    with faulty_proxy(service.url) as one:
        yield one


def config_of(url: str, **settings: object) -> ExecutionConfig:
    service = ServiceConfig.model_validate({"url": url, "timeout_seconds": 30} | settings)
    return ExecutionConfig(backend="http", service=service, limits=LIMITS)


@pytest.fixture
def connect(service: Served) -> Iterator[Connect]:
    """Backends that execute at an address, for the service's environment."""
    made: list[HttpBackend] = []

    def make(url: str, **settings: object) -> HttpBackend:
        sha = service.service.info()["environment"]["environment_sha"]
        made.append(HttpBackend(config_of(url, **settings), RemoteEnvironment("starter", sha)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_service_is_a_place_like_others(service: Served) -> None:
    """Its environment is known, it can be checked, it plans and executes."""
    config = config_of(service.url)
    found = execution_environment(config)
    info = service.service.info()
    assert (found.name, found.environment_sha) == ("starter", info["environment"]["environment_sha"])
    assert found.lock_sha256 == info["environment"]["lock_sha256"] != ""
    with closing(make_backend(config, found, cores=1)) as backend:
        assert backend.check().isolated
        (item,) = backend.prepare([program("planned")])
        assert item.preload == ("unittest",)
        assert passed(backend.execute(item))


def test_a_large_plan_is_made_in_portions(service: Served, connect: Connect) -> None:
    """What is larger than a request may be is asked for in several, and comes back in order."""
    items = [program(f"{number} {'x' * 190_000}") for number in range(12)]
    items[5] = replace(items[5], program="import json\n" + items[5].program)
    planned = connect(service.url).prepare(items)
    assert [item.program for item in planned] == [item.program for item in items]
    assert [item.preload[0] for item in planned] == ["json" if number == 5 else "unittest" for number in range(12)]


@pytest.mark.parametrize("fault", _FAULTS)
def test_a_fault_costs_time_and_nothing_else(
    service: Served, proxy: FaultyProxy, connect: Connect, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The item is asked for again and has its outcome; it was executed once."""
    monkeypatch.setattr(backend_module, "_FIRST_PAUSE_SECONDS", 0.05)
    before = service.service.jobs.executions
    proxy.faults.append(fault)
    assert passed(connect(proxy.url).execute(program(fault)))
    assert (proxy.batches, service.service.jobs.executions - before) == (2, 1)


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_is_executed_twice(
    service: Served, proxy: FaultyProxy, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty items by eight threads through a network that breaks every second request."""
    monkeypatch.setattr(backend_module, "_FIRST_PAUSE_SECONDS", 0.05)
    faults = [*AFTER, "cut before the request", "busy", "error", "bad gateway"]
    proxy.faults.extend(fault for name in islice(cycle(faults), 40) for fault in ("", name))
    before = service.service.jobs.executions
    backend = connect(proxy.url, timeout_seconds=120)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(backend.execute, [program(f"many {number}") for number in range(40)]))
    assert all(map(passed, outcomes))
    assert service.service.jobs.executions - before == 40
    assert proxy.batches >= 70


def test_each_call_is_an_execution_of_its_own(service: Served, connect: Connect) -> None:
    """Whoever executes an item again, to see whether it is flaky, does not get the former outcome."""
    backend, before = connect(service.url), service.service.jobs.executions
    outcomes = [backend.execute(program("again")) for _ in range(2)]
    assert service.service.jobs.executions - before == 2
    assert outcomes[0].wall_seconds != outcomes[1].wall_seconds


@pytest.mark.slow
def test_an_answer_that_never_makes_sense_is_given_up(
    proxy: FaultyProxy, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some attempts, as not started, with what was answered and what to do."""
    monkeypatch.setattr(backend_module, "_FIRST_PAUSE_SECONDS", 0.01)
    proxy.faults.extend(["garbage"] * 20)
    outcome = connect(proxy.url).execute(program("nonsense"))
    assert outcome.exit == (
        f"not started: backend http: the service at {proxy.url}: the answer begins with b'<html>hello</html>', which "
        "is not JSON: read the service's log, and start the same run again"
    )
    assert proxy.batches == 8


def test_a_line_without_end_is_cut(proxy: FaultyProxy, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client holds no more of an answer than an outcome can need."""
    monkeypatch.setattr(http_client, "_MAX_RESPONSE_BYTES", 1 << 16)
    monkeypatch.setattr(backend_module, "_FIRST_PAUSE_SECONDS", 0.01)
    proxy.faults.append("endless")
    assert passed(connect(proxy.url).execute(program("endless")))
    assert proxy.batches == 2


@pytest.mark.slow
def test_a_service_that_hangs_is_given_up_in_time(proxy: FaultyProxy, connect: Connect) -> None:
    """After timeout_seconds, as not started; asked again at once, without waiting once more."""
    proxy.faults.append("hang")
    backend = connect(proxy.url, timeout_seconds=1.0)
    outcomes = [backend.execute(program("hanging")) for _ in range(3)]
    assert all(outcome.not_started for outcome in outcomes)
    assert "no answer to the request" in outcomes[0].exit
    assert "raise execution.service.timeout_seconds" in outcomes[1].exit
    assert proxy.batches == 1


@pytest.mark.slow
def test_a_hang_is_cut_and_the_item_asked_for_again(
    service: Served, proxy: FaultyProxy, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that gives no sign of life is not waited for until the very end."""
    monkeypatch.setattr(http_client, "_SILENCE_SECONDS", 0.5)
    proxy.faults.append("hang")
    assert passed(connect(proxy.url).execute(program("cut hang")))


def test_a_busy_service_is_given_up_in_time(
    proxy: FaultyProxy, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """As not started: no verdict says that the program is at fault; no line of the log holds the program."""
    caplog.set_level(logging.INFO)
    proxy.faults.extend(["busy without a word"] * 50)
    outcome = connect(proxy.url, timeout_seconds=1.0).execute(program("busy"))
    assert outcome.exit.startswith("not started: backend http: the service at http://127.0.0.1:")
    assert "429 Too Many Requests: raise execution.service.timeout_seconds" in outcome.exit
    assert "task_func" not in caplog.text


def test_a_service_that_is_down_is_asked_for_a_while_only(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be on its way back; after that a thousand items do not each wait for it."""
    monkeypatch.setattr(http, "_AWAY_SECONDS", 0.5)
    backend = connect("http://127.0.0.1:9")
    calls = Mock(wraps=backend._client.execute)
    monkeypatch.setattr(backend._client, "execute", calls)
    outcomes = [backend.execute(program(f"down {number}")) for number in range(50)]
    assert 2 <= calls.call_count < 20
    (message,) = {outcome.exit for outcome in outcomes}
    assert message == (
        "not started: backend http: the service at http://127.0.0.1:9: no answer to the request ([Errno 111] "
        "Connection refused): start the service with `bigcodeflow serve`, or correct execution.service.url"
    )


@pytest.mark.parametrize(
    ("sha", "name", "key", "reason"),
    [
        # The address has become another's between plan and execution: its verdicts would be filed under a wrong name.
        ("a" * 64, "x", KEY, "409 Conflict: the service has bigcodeflow"),
        ("", "x" * (1 << 20), KEY, "413 (Request Entity Too Large: the body is larger|Content Too Large)"),
        ("", "x", "an-old-key", "set BIGCODEFLOW_SERVICE_KEY to the service's key"),
    ],
)
def test_what_the_service_refuses_is_not_started(
    service: Served, monkeypatch: pytest.MonkeyPatch, *, sha: str, name: str, key: str, reason: str
) -> None:
    """With what the service said of it; nothing is executed, and the run can be repeated."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", key)
    before = service.service.jobs.executions
    with closing(HttpBackend(config_of(service.url), RemoteEnvironment("starter", sha))) as backend:
        outcome = backend.execute(program(name))
    assert outcome.not_started
    assert re.search(reason, outcome.exit)
    assert service.service.jobs.executions == before


@pytest.mark.slow
def test_closing_leaves_nobody_waiting(service: Served, connect: Connect) -> None:
    """Items under way come back not started with the service's next sign of life."""
    backend = connect(service.url)
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(backend.execute, program(f"closed {number}", 60.0)) for number in range(4)]
        time.sleep(0.3)
        backend.close()
        outcomes = [future.result(timeout=120) for future in running]
    assert all(outcome.not_started for outcome in outcomes)
    assert "the run is ending" in backend.execute(program("after")).exit


def test_a_wrong_key_is_reported_and_not_shown(
    service: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The variable is; neither the message nor the log has the key."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", "a-wrong-key")
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ConfigError, match="set BIGCODEFLOW_SERVICE_KEY to the service's key") as raised:
        execution_environment(config_of(service.url))
    assert "a-wrong-key" not in str(raised.value) + caplog.text


_DOWN = "127.0.0.1:9: no answer to the request .*: start the service with `bigcodeflow serve`"
_NO_SERVICE = "must be the address of `bigcodeflow serve`"


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        *((url, ConfigError, "must be a URL") for url in ("127.0.0.1:8017", "ftp://127.0.0.1", "http://")),
        ("http://user@127.0.0.1:8017", ConfigError, "must be a URL"),
        ("http://127.0.0.1:9", SandboxUnavailableError, _DOWN),
        ("{url}/elsewhere", SandboxUnavailableError, _NO_SERVICE),
    ],
)
def test_an_address_that_is_no_services_is_named(
    service: Served, url: str, error: type[Exception], message: str
) -> None:
    """Of another form, of nobody, and of another page: before anything runs, and with what to do."""
    with pytest.raises(error, match=message):
        execution_environment(config_of(url.format(url=service.url)))


_OTHER = {"name": "other", "environment_sha": "1", "missing_data": [], "lock_sha256": ""}


@pytest.mark.parametrize(
    ("info", "error", "message"),
    [
        ({"code_version": "0.0.1"}, EnvironmentUnusableError, "has bigcodeflow 0.0.1, and this .*: install the same"),
        ({"environment": _OTHER}, EnvironmentUnusableError, "--environment starter"),
        (
            {"limits": LIMITS.model_dump() | {"memory_mib": 100}},
            SandboxUnavailableError,
            "allows memory_mib 100, and the run wants 700: .* --memory-mib 700",
        ),
        ({"capabilities": {"isolated": False, "layers": [], "warm": False}}, SandboxUnavailableError, "not isolate"),
        ({"capabilities": 1}, SandboxUnavailableError, "the program at this address is not a service"),
    ],
)
def test_a_service_that_is_other_than_the_run_wants_is_refused(
    proxy: FaultyProxy, connect: Connect, info: dict, error: type[Exception], message: str
) -> None:
    """Words that mean something else there would give verdicts that mean something else."""
    proxy.info = info

    def begin() -> None:
        execution_environment(config_of(proxy.url))
        connect(proxy.url).check()

    with pytest.raises(error, match=message):
        begin()


@pytest.mark.slow
def test_items_under_way_are_bounded(service: Served, connect: Connect) -> None:
    """No more than the configuration says, whichever number of threads asks."""
    backend = connect(service.url, concurrency=2)
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            most[0] = max(most[0], service.service.jobs.open_items)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(backend.execute, [program(f"bounded {number}", 0.1) for number in range(8)]))
    ended.set()
    watcher.join()
    assert all(map(passed, outcomes))
    assert most == [2]
