"""The backend e2b through E2B's own SDK: what becomes of items when the cloud fails, and what is left in the cloud."""

import itertools
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from e2b import Sandbox
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import E2BConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.environments import RemoteEnvironment
from bigcodeflow.judge.remote.backend import HostLostError
from bigcodeflow.judge.remote.protocol import whole_lines
from bigcodeflow_hosts.e2b import E2BBackend, E2BTransport, TemplateRecord, estimate, own_metadata, remove_orphans
from tests.extensions.hosts.e2b import E2BDouble, Fault
from tests.extensions.hosts.e2b_cloud import STARTER, answers, executed, work_items
from tests.serving.services import until

pytestmark = pytest.mark.sandbox
BackendWith = Callable[..., E2BBackend]


# what goes well


def test_items_come_back_from_a_bounded_pool(double: E2BDouble, backend_with: BackendWith) -> None:
    """Each item is given to one sandbox once; there are no more of them than allowed, and none after the end.

    Its stream may be cut within a line, and within a letter.
    """
    double.chunk_bytes = 7
    backend = backend_with(sandboxes=2, timeout_seconds=60)
    programs = [*answers(60), "größe\n\n"]
    outcomes = executed(backend, programs)
    assert [outcome.stdout for outcome in outcomes] == programs
    assert {outcome.stderr for outcome in outcomes} == {"1"}
    assert len(double.created) == 2
    assert all(sandbox.metadata.keys() >= own_metadata().keys() for sandbox in double.created)
    assert {sandbox.timeout_seconds for sandbox in double.created} == {
        60.0
    }  # it ends by itself if its client is killed
    backend.close()
    assert not double.sandboxes


def test_a_plan_larger_than_one_call_arrives_whole(double: E2BDouble, backend_with: BackendWith) -> None:
    """Three megabytes go in pieces, in order."""
    items = work_items(["# " + "x" * 100_000] * 30)
    assert {item.preload for item in backend_with().prepare(items)} == {("x",)}
    assert double.calls("SendInput") >= 4


def test_what_a_run_cost_is_said_at_its_end(
    double: E2BDouble, backend_with: BackendWith, caplog: pytest.LogCaptureFixture
) -> None:
    """Sandboxes, hours and USD, once."""
    backend = backend_with(sandboxes=1, usd_per_hour=3600)
    with caplog.at_level(logging.INFO):
        executed(backend, ["sleep 1"])
        backend.close()
        backend.close()
    (line,) = [message for message in caplog.messages if "USD" in message]
    assert line.startswith("backend e2b: 1 sandboxes")
    assert float(line.rpartition(" ")[2]) > 0.9


# what the cloud does


@pytest.mark.slow
@pytest.mark.parametrize(("headers", "least_seconds"), [({"Retry-After": "1"}, 1.0), ({}, 0.0)])
def test_a_rate_limit_is_waited_for(
    headers: dict[str, str], least_seconds: float, double: E2BDouble, backend_with: BackendWith
) -> None:
    """As long as Retry-After says, and by a growing pause where it says nothing."""
    double.faults["create"] = [Fault(429, headers)]
    begun = time.monotonic()
    (outcome,) = executed(backend_with(sandboxes=1), ["x"])
    assert outcome.stdout == "x"
    assert time.monotonic() - begun >= least_seconds
    assert double.calls("/v2/sandboxes") == 2


@pytest.mark.parametrize("status", [502, 503])
def test_an_answer_that_a_gateway_lost_makes_no_second_sandbox(
    status: int, double: E2BDouble, backend_with: BackendWith
) -> None:
    """The sandbox was created all the same; the repeated call gets that one."""
    double.faults["create"] = [Fault(status, applies=True)]
    (outcome,) = executed(backend_with(sandboxes=1), ["x"])
    assert outcome.stdout == "x"
    assert len(double.created) == 1


@pytest.mark.slow
def test_a_plan_with_fewer_sandboxes_than_configured_gives_all_verdicts(
    double: E2BDouble, backend_with: BackendWith
) -> None:
    """The one sandbox that can be had does the work of four, and the refused ones are not asked for again and again."""
    double.most_sandboxes = 1
    backend = backend_with(sandboxes=4)
    outcomes = executed(backend, answers(40))
    assert not [outcome for outcome in outcomes if outcome.not_started]
    assert len(double.created) == 1
    assert double.calls("/v2/sandboxes") <= 1 + 3 * 4


@pytest.mark.slow
def test_a_cloud_that_is_down_leaves_items_unjudged(double: E2BDouble, backend_with: BackendWith) -> None:
    """They are neither failed nor waited for one by one; a check says so in one line."""
    double.faults["create"] = [Fault(503)] * 1000
    backend = backend_with(sandboxes=2)
    outcomes = executed(backend, answers(40))
    assert all(outcome.not_started and "run again later" in outcome.exit for outcome in outcomes)
    assert double.calls("/v2/sandboxes") <= 2 * 4
    with pytest.raises(SandboxUnavailableError, match=r"backend e2b: .*run again later"):
        backend_with(sandboxes=1).check()


@pytest.mark.parametrize(
    "broken",
    ["expired", *(pytest.param(name, marks=pytest.mark.slow) for name in ("stream", "lost", "input", "host"))],
)
def test_a_sandbox_that_is_lost_costs_no_item(broken: str, double: E2BDouble, backend_with: BackendWith) -> None:
    """What was under way in it is done again in another; nothing is lost, and nothing comes twice."""
    backend = backend_with(sandboxes=2)
    programs = [*answers(10), *["sleep 0.6"] * 10]
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(executed, backend, programs)
        assert until(lambda: len(double.sandboxes) == 2 and double.calls("SendInput") >= 4)
        time.sleep(0.2)  # what sleeps is under way in both
        first = double.created[0]
        if broken == "stream":
            double.drop_streams = 1
        elif broken == "expired":
            first.ends_at = time.time()
        elif broken == "lost":
            double.end(first)
        elif broken == "host":
            next(iter(first.machine.commands.values())).kill()
        else:
            double.faults["SendInput"] = [Fault(502, message="The sandbox is running but port is not open")]
            backend.execute(work_items(["one more"])[0])
        outcomes = done.result(120)
    assert [outcome.stdout for outcome in outcomes] == programs
    assert {outcome.stderr for outcome in outcomes} == {"1"}
    assert len(double.created) == 3
    assert until(lambda: len(double.sandboxes) == 2)


@pytest.mark.slow
def test_a_rate_limit_within_a_sandbox_repeats_no_item(double: E2BDouble, backend_with: BackendWith) -> None:
    """429 says that nothing arrived: the same message is sent again, to the same sandbox."""
    backend = backend_with(sandboxes=1)
    backend.check()
    double.faults["SendInput"] = [Fault(429), Fault(429)]
    (outcome,) = executed(backend, ["x"])
    assert (outcome.stdout, outcome.stderr) == ("x", "1")
    assert len(double.created) == 1


@pytest.mark.slow
def test_an_item_that_ends_its_host_each_time_is_left_unjudged(double: E2BDouble, backend_with: BackendWith) -> None:
    """Three sandboxes later it is given up, with the host's last words; the next item has its own."""
    backend = backend_with(sandboxes=1)
    dead, good = backend.execute(work_items(["die"])[0]), backend.execute(work_items(["x"])[0])
    assert dead.not_started
    assert "MemoryError: no more" in dead.exit
    assert good.stdout == "x"
    assert len(double.created) == 4


def _transport(ended: Callable[[float], None]) -> E2BTransport:
    """To a new sandbox that has four seconds to live."""
    return E2BTransport(Sandbox.create(STARTER, timeout=4), "starter", timeout_seconds=4, ended=ended)


@pytest.mark.slow
def test_sandboxes_in_use_are_extended(double: E2BDouble) -> None:
    """Beyond their time-out while the transport is open, also after a try that failed; its end is reported once."""
    double.faults["timeout"] = [Fault(500)]
    held: list[float] = []
    transport = _transport(held.append)
    assert until(lambda: double.created[0].extensions >= 2)
    assert double.sandboxes
    transport.close()
    transport.close()
    assert not double.sandboxes
    assert len(held) == 1
    assert held[0] > 0


@pytest.mark.slow
def test_a_sandbox_as_old_as_the_plan_lets_it_become_ends(double: E2BDouble) -> None:
    """E2B refuses to extend it: it is not asked again, and the transport says at its end that the sandbox is gone."""
    double.faults["timeout"] = [Fault(400, message="timeout cannot be greater than 1 hours")]
    transport = _transport(lambda _: None)
    with pytest.raises(HostLostError, match="SandboxNotRunningException"):
        list(transport.lines())
    assert double.calls("/timeout") == 1
    transport.close()


# what is left behind


def test_sandboxes_of_processes_that_are_gone_are_swept(double: E2BDouble) -> None:
    """On this machine only, running and paused, through several pages; those of the living stay."""
    double.page = 2
    mine = own_metadata()
    gone = mine | {"bigcodeflow_owner": "999999999-1"}
    reused = mine | {"bigcodeflow_owner": f"{os.getpid()}-1"}
    elsewhere = gone | {"bigcodeflow_machine": "another"}
    ids = {
        name: [Sandbox.create(STARTER, metadata=who, timeout=60).sandbox_id for _ in range(2)]
        for name, who in {"mine": mine, "gone": gone, "reused": reused, "elsewhere": elsewhere, "foreign": {}}.items()
    }
    double.sandboxes[ids["gone"][0]].state = "paused"
    assert remove_orphans() == 4
    assert set(double.sandboxes) == {*ids["mine"], *ids["elsewhere"], *ids["foreign"]}


def test_orphans_that_cannot_be_listed_stop_no_run(double: E2BDouble, backend_with: BackendWith) -> None:
    """They end by their time-out."""
    double.faults["list"] = [Fault(500)]
    assert backend_with(sandboxes=1).check().isolated
    assert not double.faults["list"]


def test_a_cloud_that_is_gone_at_the_end_is_reported_and_no_more(
    double: E2BDouble, backend_with: BackendWith, caplog: pytest.LogCaptureFixture
) -> None:
    """The run has its verdicts; the sandbox ends by itself."""
    backend = backend_with(sandboxes=1)
    assert executed(backend, ["x"])[0].stdout == "x"
    double.faults["kill"] = [Fault(500)]
    backend.close()
    assert any("will end by itself within 300 s" in message for message in caplog.messages)


# lines and calls


LINES = st.lists(st.binary(max_size=30).map(lambda text: text.replace(b"\n", b"")), max_size=20)


@given(LINES, st.lists(st.integers(0, 700), max_size=30), st.sampled_from([b"", b'{"type": "outc']))
def test_lines_are_whole_wherever_a_stream_is_cut(lines: list[bytes], cuts: list[int], rest: bytes) -> None:
    """Any pieces give the same lines, and a last one that broke off is not taken for one."""
    stream = b"".join(line + b"\n" for line in lines) + rest
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(places)]
    assert list(whole_lines(pieces)) == lines


def test_what_many_threads_send_arrives_once_in_few_calls() -> None:
    """While one call is under way the others' messages gather, and go together in the next."""
    calls: list[bytes] = []
    first, go = threading.Event(), threading.Event()

    def send_stdin(data: bytes) -> None:
        calls.append(data)
        first.set()
        go.wait(10)

    sandbox = Mock()
    sandbox.commands.run.return_value.send_stdin = send_stdin
    transport = E2BTransport(sandbox, "starter", timeout_seconds=60, ended=lambda _: None)
    with ThreadPoolExecutor(16) as pool:
        done = [pool.submit(transport.send, b"first\n")]
        assert first.wait(10)
        done += [pool.submit(transport.send, b"%d\n" % number) for number in range(15)]
        while len(transport._unsent) < 15:
            threading.Event().wait(0.005)
        go.set()
        for one in done:
            one.result(10)
    transport.close()
    assert [len(call.splitlines()) for call in calls] == [1, 15]
    assert sorted(b"".join(calls).splitlines()) == sorted([b"first", *(b"%d" % number for number in range(15))])


@pytest.mark.parametrize(("usd_per_hour", "usd"), [(0.0, 1000 * (2 * 0.000014 + 4 * 0.0000045)), (3.6, 1.0)])
def test_a_price_is_the_list_s_or_the_configured_one(usd_per_hour: float, usd: float) -> None:
    """A thousand seconds of two cores and 4 GiB."""
    record = TemplateRecord("build", RemoteEnvironment("starter", "sha"), cores=2, memory_mib=4096)
    assert estimate(E2BConfig(usd_per_hour=usd_per_hour), 1000.0, record) == pytest.approx(usd)
