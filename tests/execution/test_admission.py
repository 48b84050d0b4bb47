"""The gate in front of the slots: sleeping samples hold no core, greedy ones hold several, memory is kept free."""

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.judge.backend_registry import make_backend
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.admission import Admission, machine_memory_mib

#: Longest wait for what has to happen; how long one looks that something does not happen.
WAIT_SECONDS, LOOK_SECONDS = 120, 0.15
FREE_MIB, TOTAL_MIB = 800.0, 1000.0


@pytest.fixture
def over() -> Iterator[threading.Event]:
    """Set at the end of a test: every sample in a thread then ends."""
    event = threading.Event()
    yield event
    event.set()


def _gate(cores: float, **options: object) -> Admission:
    return Admission(cores, memory=lambda: (FREE_MIB, TOTAL_MIB), **options)


def _enter(
    admission: Admission, over: threading.Event, memory_mib: float = 1.0, idle_seconds: float = 0.0
) -> threading.Event:
    """Ask for admission in a thread that stays inside; the event is set once it is in."""
    inside = threading.Event()

    def run() -> None:
        with admission.admitted(memory_mib, idle_seconds):
            inside.set()
            over.wait(WAIT_SECONDS)

    threading.Thread(target=run, daemon=True).start()
    return inside


@pytest.mark.parametrize(("cores", "busy", "idle"), [(1, 1.0, 0.0), (2, 2.0, 0.9)])
def test_a_sample_holds_the_cores_that_it_keeps_busy(
    over: threading.Event, cores: int, busy: float, idle: float
) -> None:
    """One that computes in two processes leaves none of two cores, and one that sleeps leaves the only one."""
    admission = _gate(cores=cores)
    with admission.admitted(1) as turn:
        turn.used(busy, 10.0, is_long=False)
        second = _enter(admission, over)
        assert not second.wait(LOOK_SECONDS)
        turn.used(idle, 10.0, is_long=False)
        assert second.wait(WAIT_SECONDS)


def test_memory_that_was_promised_is_kept(over: threading.Event) -> None:
    """A sample whose memory is not there waits, unless nothing else runs that could end."""
    admission = _gate(cores=8)
    with admission.admitted(FREE_MIB * 2):  # alone, it starts whatever it needs
        second = _enter(admission, over, memory_mib=1)
        assert not second.wait(LOOK_SECONDS)
    assert second.wait(WAIT_SECONDS)


def test_memory_that_was_taken_is_not_counted_twice(over: threading.Event) -> None:
    """What a sample has taken already shows in what is free; only the rest of its promise is still owed."""
    admission = _gate(cores=8)
    promised = FREE_MIB - 0.1 * TOTAL_MIB
    with admission.admitted(promised) as turn:
        second = _enter(admission, over, memory_mib=0.1 * TOTAL_MIB)
        assert not second.wait(LOOK_SECONDS)
        turn.used(0.0, promised, is_long=False)
        assert second.wait(WAIT_SECONDS)


def test_processes_of_one_machine_reserve_their_shares(over: threading.Event) -> None:
    """Each sees the same free memory, and none sees what the others have reserved."""
    halves = [_gate(cores=8, share=0.5) for _ in range(2)]
    promised = 0.4 * FREE_MIB
    assert all(_enter(half, over, memory_mib=promised).wait(WAIT_SECONDS) for half in halves)
    assert not any(_enter(half, over, memory_mib=promised).wait(LOOK_SECONDS) for half in halves)


@pytest.mark.parametrize(("workers", "cores", "shares"), [(64, 16, 4), (20, 10, 2), (2, 2, 1)])
def test_worker_processes_share_the_memory_as_the_cores(workers: int, cores: int, shares: int) -> None:
    """As many as a run starts for its cores may together reserve what is free."""
    config = ExecutionConfig(workers=workers)
    environment = InstalledEnvironment("none", Path("/none"), Path("/none"), (), {}, "sha", ())
    backend = make_backend(config, environment, cores=cores)
    assert backend._admission._share == pytest.approx(1 / shares)


def test_one_look_at_the_memory_serves_all_that_wait(over: threading.Event) -> None:
    """It is slow, and on a full machine each of a hundred samples would wait for the looks of all others."""
    lookers: list[int] = []
    admission = Admission(8, memory=lambda: (lookers.append(threading.get_ident()) or FREE_MIB, TOTAL_MIB))
    with admission.admitted(FREE_MIB) as turn:
        assert not any(_enter(admission, over, memory_mib=FREE_MIB).wait(0.01) for _ in range(20))
        lookers.clear()  # the samples that wait look now and then too
        turn.used(1.0, 1.0, is_long=False)
        assert lookers.count(threading.get_ident()) == 1


def test_the_memory_of_this_machine_is_read() -> None:
    """Free and total memory, in MiB."""
    free_mib, total_mib = machine_memory_mib()
    assert 0 < free_mib < total_mib


def test_the_gate_opens_when_a_sample_fails(over: threading.Event) -> None:
    """An exception inside gives the place back."""
    admission = _gate(cores=1)
    with pytest.raises(ValueError, match="inside"), admission.admitted(1):
        raise ValueError("inside")
    assert _enter(admission, over).wait(WAIT_SECONDS)


def _compute(admission: Admission, over: threading.Event) -> threading.Event:
    """A sample in a thread that computes for long, pauses when it is asked to, and says whether it runs now."""
    runs = threading.Event()

    def run() -> None:
        with admission.admitted(1) as turn:
            while not over.wait(0.02):
                runs.set()
                if turn.used(1.0, 1.0, is_long=True):
                    runs.clear()
                    turn.wait()

    threading.Thread(target=run, daemon=True).start()
    return runs


def test_a_long_sample_gives_way_until_nobody_waits(over: threading.Event) -> None:
    """On the only core it pauses at once for others, and goes on when the core was free for a moment."""
    admission, left = _gate(cores=1), threading.Event()
    long = _compute(admission, over)
    assert long.wait(WAIT_SECONDS)
    with admission.admitted(1):
        assert not long.is_set()
        second = _enter(admission, left)
        assert not second.wait(LOOK_SECONDS)
    assert second.wait(WAIT_SECONDS)
    assert not long.wait(LOOK_SECONDS), "it runs while the second one holds the only core"
    left.set()
    assert long.wait(WAIT_SECONDS)


def test_long_samples_keep_one_of_several_cores(over: threading.Event) -> None:
    """So that the last of them does not compute alone at the end; all cores are theirs when nobody waits."""
    admission = _gate(cores=2)
    both = [_compute(admission, over) for _ in range(2)]
    assert all(one.wait(WAIT_SECONDS) for one in both)
    with admission.admitted(1):
        third = _enter(admission, over)
        assert not third.wait(LOOK_SECONDS)
        while not any(one.wait(0.01) for one in both):
            pass  # both paused at the same time, and one of them is about to go on
        assert not all(one.is_set() for one in both)
    assert third.wait(WAIT_SECONDS)


def test_paused_samples_go_on_where_those_that_wait_lack_memory(over: threading.Event) -> None:
    """Nothing else runs that could end and give memory back."""
    admission, ended = _gate(cores=1), threading.Event()
    long = _compute(admission, ended)
    assert long.wait(WAIT_SECONDS)
    with admission.admitted(1):
        assert not long.is_set()
        greedy = _enter(admission, over, memory_mib=2 * FREE_MIB)
    assert long.wait(WAIT_SECONDS)
    assert not greedy.is_set()
    ended.set()
    assert greedy.wait(WAIT_SECONDS)


def test_a_long_sample_leaves_its_slot_once() -> None:
    """Its worker takes another item meanwhile."""
    left: list[int] = []
    admission = _gate(cores=1, on_long=lambda: left.append(1))
    with admission.admitted(1) as turn:
        turn.began = math.inf
        turn.used(1.0, 1.0, is_long=False)
        assert not left
        turn.began = -math.inf
        turn.used(0.0, 1.0, is_long=False)
        turn.used(0.0, 1.0, is_long=False)
    assert left == [1]


def test_samples_that_wait_for_a_clock_leave_their_slots_and_start_first(over: threading.Event) -> None:
    """They take no core while they wait: the run is as long as the one that waits the longest."""
    left: list[int] = []
    admission = _gate(cores=1, on_long=lambda: left.append(1))
    with admission.admitted(1) as turn:
        turn.used(1.0, 1.0, is_long=False)
        waits = [_enter(admission, over, idle_seconds=seconds) for seconds in (0.0, 30.0, 60.0)]
        assert not any(one.wait(LOOK_SECONDS) for one in waits)
        assert left == [1, 1]
    assert waits[2].wait(WAIT_SECONDS)
    assert not any(one.wait(LOOK_SECONDS) for one in waits[:2])
