"""What lies between a transport and the SDK: lines out of pieces, and few calls for many messages."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from e2b import SandboxException
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import E2BConfig
from bigcodeflow.environments.images import TemplateRecord
from bigcodeflow.execution.remote.e2b import E2BTransport, estimate
from bigcodeflow.execution.remote.transports import HostLostError, whole_lines

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

    transport = _transport(send_stdin)
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


def test_a_message_that_is_not_taken_is_no_message_sent() -> None:
    """Whoever made the call hears of it; its connection then tells everybody who waits for a response."""
    transport = _transport(Mock(side_effect=SandboxException("gone")))
    with pytest.raises(HostLostError, match=r"takes no input .*gone"):
        transport.send(b"x\n")
    transport.close()


def _transport(send_stdin: Callable[[bytes], None]) -> E2BTransport:
    sandbox = Mock()
    sandbox.commands.run.return_value.send_stdin = send_stdin
    return E2BTransport(sandbox, "starter", timeout_seconds=60, ended=lambda _: None)


@pytest.mark.parametrize(
    ("usd_per_hour", "usd"),
    [(0.0, 1000 * (2 * 0.000014 + 4 * 0.0000045)), (3.6, 1.0)],
)
def test_a_price_is_the_list_s_or_the_configured_one(usd_per_hour: float, usd: float) -> None:
    """A thousand seconds of two cores and 4 GiB."""
    config = E2BConfig(usd_per_hour=usd_per_hour)
    record = TemplateRecord(
        template_id="t",
        build_id="b-1",
        environment="starter",
        environment_sha="sha",
        lock_sha256="lock",
        missing_data=(),
        cores=2,
        memory_mib=4096,
    )
    assert estimate(config, 1000.0, record) == pytest.approx(usd)
