"""The time until all executions are done: believable from a third of the way on, and honest about what is unknown."""

import csv
import heapq
from dataclasses import replace

import pytest

from bigcodeflow.core.paths import shipped
from bigcodeflow.execution.costs import Forecast, priority, work_seconds
from bigcodeflow.judge.items import Origin, WorkItem

from .conftest import RIGHT, item

_CORES = 2


class _Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _item(number: int, wall: float, cpu: float) -> WorkItem:
    return replace(item(RIGHT), verdict_key=str(number), expected_seconds=wall, expected_cpu_seconds=cpu)


def _benchmark() -> list[WorkItem]:
    """The 1,133 ground truths of known cost."""
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        costs = [(float(row["wall_seconds"]), float(row["cpu_seconds"])) for row in csv.DictReader(file)]
    return [_item(number, wall, cpu) for number, (wall, cpu) in enumerate(costs)]


def _played(items: list[WorkItem], slower: float, forecast: Forecast, clock: _Clock) -> list[tuple[float, float]]:
    """Execute on two cores, each item in its CPU time, and those that sleep beside; times and their forecasts."""
    began, seen = dict[str, float](), list[tuple[float, float]]()
    forecast.add({one.verdict_key: one for one in items})
    waiting = sorted(items, key=lambda one: -priority(one, int(one.verdict_key)))
    running: list[tuple[float, str, bool]] = []
    free = _CORES
    while waiting or running:
        while waiting and free:
            one = waiting.pop(0)
            sleeps = one.expected_seconds > 2 * work_seconds(one) + 2
            free -= not sleeps
            began[one.verdict_key] = clock.now
            seconds = one.expected_seconds if sleeps else slower * work_seconds(one)
            heapq.heappush(running, (clock.now + seconds, one.verdict_key, sleeps))
        clock.now, key, sleeps = heapq.heappop(running)
        free += not sleeps
        del began[key]
        forecast.end(key)
        eta = forecast.eta_seconds({name: clock.now - at for name, at in began.items()})
        seen += [] if eta is None else [(clock.now, eta)]
    return seen


@pytest.mark.parametrize("slower", [0.5, 1.0, 3.0])
def test_the_forecast_is_right_within_a_factor_of_two_from_a_third_on(slower: float) -> None:
    """On machines of other speeds too, with tests that sleep for minutes among those that compute."""
    clock = _Clock()
    seen = _played(_benchmark(), slower, Forecast(clock), clock)
    began, end = 1000.0, clock.now
    late = [(at, eta) for at, eta in seen if at - began > (end - began) / 3 and end - at > 1]
    assert len(late) > 100
    assert all((end - at) / 2 <= eta <= (end - at) * 2 for at, eta in late)


def test_there_is_no_forecast_while_the_amount_of_work_is_unknown() -> None:
    clock = _Clock()
    forecast = Forecast(clock)
    forecast.add({"a": _item(0, 1.0, 1.0), "b": _item(1, 1.0, 1.0)})
    forecast.later_seconds = None
    assert forecast.eta_seconds({}) is None
    clock.now += 10
    forecast.end("a")
    assert forecast.eta_seconds({}) is None
    forecast.later_seconds = 11.0
    assert forecast.eta_seconds({}) == pytest.approx(10 * 12.1 / 1.1)


def test_what_long_items_have_done_counts_before_they_end() -> None:
    """A quarter of two items in twenty seconds: two of CPU a second."""
    clock = _Clock()
    forecast = Forecast(clock)
    items = [_item(number, 80.0, 79.9) for number in range(10)]
    forecast.add({one.verdict_key: one for one in items})
    assert forecast.eta_seconds({"0": 0.0, "1": 0.0}) is None
    clock.now += 20
    assert forecast.eta_seconds({"0": 20.0, "1": 20.0}) == pytest.approx((800 - 40) / 2)


def test_endless_loops_end_at_their_limits() -> None:
    """When nothing else waits, the forecast is the longest time that a limit leaves."""
    forecast = Forecast(_Clock())
    forecast.add({"a": _item(0, 1.0, 1.0), "b": _item(1, 1.0, 1.0)})
    assert forecast.eta_seconds({"a": 3.0, "b": 2.0}) == pytest.approx(2.0)


def test_the_check_of_a_long_sample_follows_it() -> None:
    """No check follows a check."""
    forecast = Forecast(_Clock())
    sample, check = _item(0, 100.0, 100.0), _item(1, 100.0, 1.0)
    forecast.add({"a": replace(sample, origin=Origin("T/0", sample_index=0)), "b": check})
    forecast.check_share = 0.25
    assert forecast.eta_seconds({"a": 90.0, "b": 80.0}) == pytest.approx(35.0)
    forecast.end("a")
    assert forecast.eta_seconds({"b": 80.0}) == pytest.approx(20.0)


def test_the_check_of_a_sample_that_waits_for_a_clock_does_not_follow_it() -> None:
    forecast = Forecast(_Clock())
    forecast.add({"a": replace(_item(0, 100.0, 1.0), origin=Origin("T/0", sample_index=0))})
    forecast.check_share = 0.25
    assert forecast.eta_seconds({"a": 90.0}) == pytest.approx(10.0)
