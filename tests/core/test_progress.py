"""What people are told of work that goes on: how much is open, what takes longest, and how long it will take."""

from datetime import UTC, datetime, timedelta

import pytest

from bigcodeflow.core.progress import OpenItem, Pace, StageProgress, Status, duration_text

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_status_names_what_has_been_under_way_longest() -> None:
    """Number of open items, the first one's task, its time and its limit; nothing where nothing is known."""
    longest = [OpenItem("BigCodeBench/7", NOW - timedelta(seconds=43), 241.0), OpenItem("BigCodeBench/8", NOW, 241.0)]
    assert Status(12, longest).in_words(NOW) == "12 open, longest BigCodeBench/7: 43 s (limit 241 s)"
    assert Status(3).in_words(NOW) == "3 open"
    assert Status().in_words(NOW) == ""


def test_the_time_that_is_left_follows_the_rate_of_the_last_minutes() -> None:
    """Not known at first and while nothing ends; a rate that changes is followed, known work that is skipped is none."""
    clock = Clock()
    pace = Pace(clock)
    assert pace.eta_seconds(100, 1000) is None
    clock.seconds = 10.0
    assert pace.eta_seconds(200, 1000) == pytest.approx(80.0)
    for clock.seconds in range(11, 700):
        slow = pace.eta_seconds(200 + clock.seconds / 10, 1000)
    assert slow == pytest.approx((800 - 69.9) * 10, rel=0.01)
    for clock.seconds in range(700, 1100):
        stalled = pace.eta_seconds(269.9, 1000)
    assert stalled is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (119, "119 s"), (600, "10 min"), (7199, "120 min"), (9000, "2.5 h")]
)
def test_times_are_told_in_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_line_says_all_that_is_known() -> None:
    """Counts, the stage's own words, what is open, and what is left; a stage's own expectation wins."""
    clock = Clock()
    state = StageProgress("execution", clock)
    assert state.line == "execution: under way"
    state.update(0, 1000)
    clock.seconds = 60.0
    state.update(100, 1000, "3 flaky")
    assert state.line == "execution: 100 of 1,000 (3 flaky; about 9 min left)"
    state.update(100, 1000, "", Status(2, eta_seconds=30.0))
    assert state.line == "execution: 100 of 1,000 (2 open; about 30 s left)"
    state.update(1000, 1000, "", Status(eta_seconds=0.0))
    assert state.line == "execution: 1,000 of 1,000"
