"""Pacing and patience as arithmetic: limits a minute, room that the provider shows, backoff, budget and circuit."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.generation.costs import Spending
from bigcodeflow.generation.model_api import RequestError, TokenUsage
from bigcodeflow.generation.retries import Circuit, Pace, Rate, RetryBudget, RetryPolicy, Throttle, backoff_seconds

POLICY = RetryPolicy()
LIMITED = RequestError("rate_limited", "slow down")
BROKEN = RequestError("overloaded", "no room")


def sent_times(rate: Rate, units: list[float], late: float) -> list[float]:
    """When requests go that are sent as soon as they may, a late timer apart."""
    now, times = 0.0, []
    for one in units:
        now += rate.delay(now) + late
        times.append(now)
        rate.spend(now, one)
    return times


@given(st.integers(1, 100_000), st.lists(st.floats(1, 5000), min_size=1, max_size=200), st.floats(0, 0.04))
def test_no_minute_gets_more_than_its_limit(per_minute: int, units: list[float], late: float) -> None:
    """In every window of a minute goes the limit at most, plus one request and what a late timer catches up."""
    times = sent_times(Rate(per_minute), units, late)
    allowed = per_minute * (1 + 0.05 / 60) + max(units)
    for first, start in enumerate(times):
        window = [one for at, one in zip(times[first:], units[first:], strict=True) if at < start + 60]
        assert sum(window) <= allowed * (1 + 1e-6)


def test_tokens_are_corrected_by_what_a_reply_used() -> None:
    """Answers that are shorter than max_tokens give their tokens back; a reply without usage gives nothing."""
    pace, expected = Pace(0, 6000), TokenUsage(100, 500)
    pace.sent(0.0, expected)
    assert pace.delay(0.0) == pytest.approx(6.0, abs=0.06)
    pace.answered(expected, TokenUsage())
    assert pace.delay(0.0) == pytest.approx(6.0, abs=0.06)
    pace.answered(expected, TokenUsage(100, 100))
    assert pace.delay(0.0) == pytest.approx(2.0, abs=0.06)


def test_a_round_of_complaints_takes_room_once_and_answers_bring_all_of_it_back() -> None:
    """64 rejections of requests that went together count as one; sixteen rounds of answers fill up again."""
    throttle = Throttle(64, Random(1))
    for _ in range(64):
        throttle.refused(LIMITED, sent_at=0.0, now=1.0)
    assert throttle.limit == 44
    throttle.refused(LIMITED, sent_at=2.0, now=3.0)
    assert throttle.limit == 31
    answers = 0
    while throttle.limit < 64:
        throttle.answered()
        answers += 1
    assert answers < 16 * 64
    for round_ in range(40):
        throttle.refused(LIMITED, sent_at=10.0 + round_, now=10.5 + round_)
    assert throttle.limit == 1
    for _ in range(8):  # a single answer says little about how many would come
        before = throttle.limit
        throttle.answered()
        assert throttle.limit <= before + 1


def test_complaints_round_after_round_make_longer_pauses() -> None:
    """Without Retry-After one complaint costs room only; unbroken ones double the pause, up to a minute."""
    throttle, pauses = Throttle(8, Random(1)), []
    for n in range(12):
        throttle.refused(LIMITED, sent_at=1000.0 * n, now=1000.0 * n + 1)
        pauses.append(throttle.delay(1000.0 * n + 1))
    assert pauses[0] == 0
    for n, pause in enumerate(pauses[1:]):
        assert min(60, 2**n) / 2 <= pause <= min(60, 2**n)
    throttle.answered()
    throttle.refused(LIMITED, sent_at=50_000.0, now=50_001.0)
    assert throttle.delay(50_001.0) == 0


def test_single_server_errors_take_no_room() -> None:
    """One broken machine behind a gateway does not slow a run down; five errors in a row are a server without room."""
    throttle = Throttle(64, Random(1))
    for n in range(100):
        throttle.refused(BROKEN, sent_at=float(n), now=n + 0.5)
        if n % 4 == 3:
            throttle.answered()
    assert throttle.limit == 64
    for n in range(5):
        throttle.refused(BROKEN, sent_at=200.0 + n, now=200.5 + n)
    assert throttle.limit < 64


@given(st.integers(1, 10_000), st.none() | st.floats(0, 900), st.integers())
def test_backoff_is_bounded_and_never_before_retry_after(attempts: int, retry_after: float | None, seed: int) -> None:
    """A wait lies between what the provider asked for and that plus the bound, which doubles up to a minute."""
    error = RequestError("rate_limited", "", retry_after_seconds=retry_after)
    seconds = backoff_seconds(POLICY, attempts, error, Random(seed))
    least = retry_after or 0.0
    assert least <= seconds <= least + min(60.0, 2.0 ** min(attempts - 1, 10))


def test_backoff_spreads_over_the_whole_bound() -> None:
    """Full jitter: requests that failed together return all over the interval, not around its end."""
    chance = Random(3)
    waits = [backoff_seconds(POLICY, 5, BROKEN, chance) for _ in range(2000)]
    assert min(waits) < 0.2
    assert max(waits) > 15.8
    assert sum(waits) / len(waits) == pytest.approx(8.0, abs=0.4)


def test_the_budget_forgets_old_troubles() -> None:
    """Only the last thousand requests count, and a hundred retries are always allowed."""
    budget = RetryBudget(slots=1)
    for _ in range(100):
        budget.sent(retry=True)
    assert budget.used_up is None
    budget.sent(retry=True)
    assert budget.used_up == "101 of the last 101 requests were retries"
    for _ in range(1000):
        budget.sent(retry=False)
    for _ in range(100):
        budget.sent(retry=True)
    assert budget.used_up is None


def opened() -> Circuit:
    circuit = Circuit(POLICY)
    for _ in range(10):
        assert not circuit.is_open
        assert circuit.failed(BROKEN, 0.0, probe=False) is None
    assert circuit.is_open
    return circuit


def test_failures_in_a_row_open_the_circuit_and_any_answer_closes_it() -> None:
    """Nine failures and an answer are nothing; ten let only one probe go, and its answer lets all go."""
    circuit = Circuit(POLICY)
    for _ in range(9):
        circuit.failed(BROKEN, 0.0, probe=False)
    circuit.answered()
    circuit.failed(BROKEN, 0.0, probe=False)
    assert circuit.delay(0.0) == 0
    circuit = opened()
    assert circuit.delay(0.0) == 1
    assert circuit.sent()
    assert circuit.delay(100.0) == float("inf")
    circuit.answered()
    assert circuit.delay(100.0) == 0
    assert not circuit.sent()


def test_rate_limits_do_not_open_the_circuit_but_are_not_borne_for_ever() -> None:
    """A provider that turns requests away is there; one that does only that for ten minutes ends the run."""
    circuit = opened()
    assert circuit.sent()
    assert circuit.failed(LIMITED, 1.0, probe=True) is None
    for n in range(100):
        assert circuit.failed(LIMITED, 1.0 + n, probe=False) is None
        assert not circuit.is_open
    assert circuit.failed(LIMITED, 600.0, probe=False) is not None


def test_two_failures_far_apart_are_no_silence() -> None:
    """Where answers take long, a second failure ten minutes after the first ends nothing."""
    circuit = Circuit(POLICY)
    assert circuit.failed(BROKEN, 0.0, probe=False) is None
    assert circuit.failed(BROKEN, 700.0, probe=False) is None


def per_token(usage: TokenUsage) -> float | None:
    return None if usage.completion_tokens is None else usage.completion_tokens * 0.01


def test_money_is_set_aside_until_a_reply_says_what_it_cost() -> None:
    """What is under way counts with its longest answer; a reply of unknown price counts as it was expected."""
    spending = Spending(per_token, 3.0)
    expected = spending.expected(TokenUsage(10, 100))
    assert expected == 1.0
    spending.reserve(expected)
    spending.reserve(expected)
    assert spending.has_room(1.0)
    spending.reserve(expected)
    assert not spending.has_room(0.01)
    for cost in (0.5, None, 0.5):
        spending.reserve(-expected)
        spending.spend(cost, expected)
    assert spending.cost_usd == 1.0
    assert spending.has_room(1.0)
    assert not spending.has_room(1.01)
