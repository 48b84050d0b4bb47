"""The gate in front of the slots: sleeping samples hold no core, greedy ones hold several, memory is kept free."""

import threading
import time
from contextlib import ExitStack

import pytest

from bigcodeflow.execution.backends.local import Admission, machine_memory_mib

pytestmark = pytest.mark.serial


def _enter(admission: Admission, memory_mib: float = 1.0) -> threading.Event:
    """Ask for admission in a thread that stays inside; the event is set once it is in."""
    inside, stay = threading.Event(), threading.Event()

    def run() -> None:
        with admission.admitted(memory_mib):
            inside.set()
            stay.wait(20)

    threading.Thread(target=run, daemon=True).start()
    return inside


def test_as_many_samples_start_as_there_are_cores() -> None:
    """One more than there are cores has to wait until one ends."""
    admission = Admission(cores=2)
    with ExitStack() as others:
        others.enter_context(admission.admitted(1))
        with admission.admitted(1):
            third = _enter(admission)
            assert not third.wait(0.3)
        assert third.wait(2)


@pytest.mark.parametrize(("cores", "busy", "idle"), [(1, 1.0, 0.0), (2, 2.0, 0.9)])
def test_a_sample_holds_the_cores_that_it_keeps_busy(cores: int, busy: float, idle: float) -> None:
    """One that computes in two processes leaves none of two cores, and one that sleeps leaves the only one."""
    admission = Admission(cores=cores)
    with admission.admitted(1) as turn:
        turn.used(busy, 10.0, is_long=False)
        second = _enter(admission)
        assert not second.wait(0.3)
        turn.used(idle, 10.0, is_long=False)
        assert second.wait(2)


def test_memory_that_was_promised_is_kept() -> None:
    """A sample whose memory is not there waits, unless nothing else runs that could end."""
    free_mib, _ = machine_memory_mib()
    admission = Admission(cores=8)
    with admission.admitted(free_mib * 2):  # alone, it starts whatever it needs
        second = _enter(admission, memory_mib=1)
        assert not second.wait(0.3)
    assert second.wait(2)


def test_memory_that_was_taken_is_not_counted_twice() -> None:
    """What a sample has taken already shows in what is free; only the rest of its promise is still owed."""
    free_mib, total_mib = machine_memory_mib()
    admission = Admission(cores=8)
    promised = free_mib - 0.1 * total_mib
    with admission.admitted(promised) as turn:
        second = _enter(admission, memory_mib=0.1 * total_mib)
        assert not second.wait(0.3)
        turn.used(0.0, promised, is_long=False)
        assert second.wait(2)


def test_the_gate_opens_when_a_sample_fails() -> None:
    """An exception inside gives the place back."""
    admission = Admission(cores=1)
    with pytest.raises(ValueError, match="inside"), admission.admitted(1):
        raise ValueError("inside")
    began = time.monotonic()
    with admission.admitted(1):
        assert time.monotonic() - began < 1


def _compute(admission: Admission, until: threading.Event) -> threading.Event:
    """A sample in a thread that computes for long, pauses when it is asked to, and says whether it runs now."""
    runs = threading.Event()

    def run() -> None:
        with admission.admitted(1) as turn:
            while not until.wait(0.02):
                runs.set()
                if turn.used(1.0, 1.0, is_long=True):
                    runs.clear()
                    turn.wait()

    threading.Thread(target=run, daemon=True).start()
    return runs


def test_a_long_sample_gives_way_until_nobody_waits() -> None:
    """On the only core it pauses at once for others, and goes on when the core was free for a moment."""
    admission, over = Admission(cores=1), threading.Event()
    long = _compute(admission, over)
    assert long.wait(2)
    with admission.admitted(1):
        assert not long.is_set()
        second = _enter(admission)
        assert not second.wait(0.3)
    assert second.wait(2)
    assert not long.wait(1), "it runs beside the second one, which holds the only core"
    over.set()


def test_long_samples_keep_one_of_several_cores() -> None:
    """So that the last of them does not compute alone at the end; all cores are theirs when nobody waits."""
    admission, over = Admission(cores=2), threading.Event()
    both = [_compute(admission, over) for _ in range(2)]
    assert all(one.wait(3) for one in both)
    with admission.admitted(1):
        third = _enter(admission)
        assert not third.wait(0.3)
        assert [one.is_set() for one in both].count(True) == 1
    assert third.wait(2)
    over.set()


def test_paused_samples_go_on_where_those_that_wait_lack_memory() -> None:
    """Nothing else runs that could end and give memory back."""
    free_mib, _ = machine_memory_mib()
    admission, over = Admission(cores=1), threading.Event()
    long = _compute(admission, over)
    assert long.wait(2)
    with admission.admitted(1):
        assert not long.is_set()
        greedy = _enter(admission, memory_mib=2 * free_mib)
    assert long.wait(3)
    assert not greedy.is_set()
    over.set()
    assert greedy.wait(3)


def test_a_long_sample_leaves_its_slot_once() -> None:
    """Its worker takes another item beside it."""
    left: list[int] = []
    admission = Admission(cores=1, on_long=lambda: left.append(1))
    with admission.admitted(1) as turn:
        turn.used(1.0, 1.0, is_long=False)
        assert not left
        turn._began -= 3
        turn.used(0.0, 1.0, is_long=False)
        turn.used(0.0, 1.0, is_long=False)
    assert left == [1]
