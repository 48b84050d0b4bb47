"""The engine against providers that fail, throttle, hang and cost money, on a jumping clock."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise

import pytest

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.model_api import ErrorKind, Reply, Request, RequestError, TokenUsage
from bigcodeflow.generation.outcome import GenerationOutcome
from bigcodeflow.generation.providers import open_provider
from bigcodeflow.generation.retries import RetryPolicy
from tests.generation.providers.conftest import endpoint
from tests.generation.providers.double import Fail, Send, model_server

from .in_process import Model, Script, at_random, every, generate, held, now, requests, run, settings


def test_slots_are_free_while_retries_wait(ledger: AnswerLedger) -> None:
    """A request that backs off for long holds no slot: the others are done meanwhile."""
    unlucky = at_random(1.0, "connection")
    model = Model(script=lambda asked, before: unlucky(asked, before) if asked.task_id == "Task/0" else None)
    policy = RetryPolicy(first_backoff_seconds=1000.0, longest_backoff_seconds=1000.0)
    run(generate(requests(41), model, ledger, settings(concurrency=2, attempts=2), policy=policy))
    ends = [one.at for one in model.asked if one.request.task_id != "Task/0"]
    assert max(ends) - min(ends) <= 21
    assert held(ledger) == every(41) - every(1)


def test_what_cannot_succeed_is_not_tried_again_but_reported(ledger: AnswerLedger) -> None:
    """A request that the provider does not take fails its sample for this run only; the next one asks again."""
    model = Model(
        script=lambda asked, _: RequestError("bad_request", "too long") if asked.task_id == "Task/3" else None
    )
    outcome = run(generate(requests(10), model, ledger, settings(concurrency=1)))
    assert Counter(model.asked_ids)["Task/3", 0] == 1
    assert outcome.failures == (("Task/3", 0, "bad_request", "too long", 1),)
    assert outcome.stopped_because is None
    again = Model()
    run(generate(requests(10), again, ledger, settings()))
    assert again.asked_ids == [("Task/3", 0)]


def test_settings_that_no_request_gets_by_with_stop_the_run(ledger: AnswerLedger) -> None:
    """Where the first ten requests are all not taken, the other thousand are not sent."""
    model = Model(script=lambda _request, _before: RequestError("bad_request", "top_k is unknown"))
    outcome = run(generate(requests(1000), model, ledger, settings(concurrency=4)))
    assert len(model.asked) <= 10 + 4
    assert "top_k is unknown" in (outcome.stopped_because or "")


@pytest.mark.parametrize("kind", ["quota", "authentication", "not_found"])
def test_what_concerns_every_request_stops_at_once_and_keeps_what_came(ledger: AnswerLedger, kind: ErrorKind) -> None:
    """No further request goes; those under way are paid for and are kept; one line says why and what to do."""

    def script(asked: Request, _before: int) -> RequestError | None:
        return RequestError(kind, "not like this") if asked.task_id == "Task/20" else None

    model = Model(script=script)
    outcome = run(generate(requests(1000), model, ledger, settings(concurrency=8)))
    assert len(model.asked) <= 20 + 8
    assert held(ledger) == set(model.answered)
    assert outcome.stopped_because.startswith(f"{kind.replace('_', ' ')}: not like this: ")
    assert outcome.stopped_because.endswith("run again to go on")
    assert "\n" not in (outcome.stopped_because or "")
    assert [failure.task_id for failure in outcome.failures] == ["Task/20"]


def test_a_server_that_lacks_the_model_is_asked_for_those_that_it_has(ledger: AnswerLedger) -> None:
    """Names like the wanted one come first, a few of many."""
    names = ["other", *(f"llama-{number}" for number in range(20)), "qwen2.5-coder"]
    listed = Send({"data": [{"id": name} for name in names]})

    async def ask() -> GenerationOutcome:
        async with aclosing(open_provider("openai", endpoint(server, "openai", model="qwen-coder"))) as provider:
            return await generate(requests(5), provider, ledger, settings(concurrency=2))

    with model_server(lambda received: listed if received.method == "GET" else Fail(404, "no such model")) as server:
        stopped = asyncio.run(ask()).stopped_because or ""
    assert "404: no such model" in stopped
    assert "The server has qwen2.5-coder, " in stopped
    assert stopped.endswith(", …")


def test_attempts_for_one_answer_are_bounded(ledger: AnswerLedger) -> None:
    model = Model(script=lambda asked, _: RequestError("malformed", "no JSON") if asked.task_id == "Task/5" else None)
    outcome = run(generate(requests(30), model, ledger, settings(attempts=4)))
    assert Counter(model.asked_ids)["Task/5", 0] == 4
    assert outcome.failures == (("Task/5", 0, "malformed", "no JSON", 4),)
    assert held(ledger) == every(30) - {("Task/5", 0)}


def test_a_request_that_rate_limits_turn_away_has_not_failed(ledger: AnswerLedger) -> None:
    """However often it is turned away, it is asked for; whatever else befalls it counts as before."""
    limited = RequestError("rate_limited", "slow down", retry_after_seconds=1.0)
    model = Model(script=lambda asked, before: limited if asked.task_id == "Task/5" and before < 6 else None)
    outcome = run(generate(requests(200), model, ledger, settings(attempts=2)))
    assert (outcome.failures, outcome.stopped_because) == ((), None)
    assert Counter(model.asked_ids)["Task/5", 0] == 7
    assert held(ledger) == every(200)


def test_three_faults_in_ten_lose_nothing_and_leave_no_slot_idle(ledger: AnswerLedger) -> None:
    """Under 30 % faults every sample comes, and the slots are full until only a few unlucky ones are left."""
    model = Model(script=at_random(0.3, "overloaded", "connection", "malformed"))
    outcome = run(generate(requests(2000), model, ledger, settings(concurrency=32, attempts=30)))
    assert held(ledger) == every(2000)
    assert outcome.failures == ()
    assert len(model.asked) == 2000 + sum(outcome.totals.errors.values())
    sent_at = [one.at for one in model.asked]
    assert sent_at[int(0.99 * len(sent_at))] - sent_at[0] < 1.05 * len(sent_at) / 32  # the last ones back off at random


def test_a_provider_that_mostly_fails_ends_the_run(ledger: AnswerLedger) -> None:
    """Where most requests are retries, the run stops with a clear line instead of paying a multiple."""
    model = Model(script=at_random(0.75, "overloaded", "malformed"))
    outcome = run(generate(requests(5000), model, ledger, settings(concurrency=32)))
    assert "requests were retries" in (outcome.stopped_because or "")
    assert len(model.asked) < 2000
    assert held(ledger) == set(model.answered)


def outage(start: float, end: float) -> Script:
    return lambda *_: RequestError("connection", "refused") if start <= now() < end else None


def test_an_outage_is_probed_and_outlived(ledger: AnswerLedger) -> None:
    """While nothing answers only probes go; afterwards the run goes on by itself and loses no sample."""
    model = Model(latency_seconds=0.5, script=outage(1010, 1130))
    outcome = run(generate(requests(1000), model, ledger, settings(concurrency=16)))
    during = [one for one in model.asked if 1011 <= one.at < 1129]
    assert held(ledger) == every(1000)
    assert outcome.stopped_because is None
    assert 3 <= len(during) <= 12
    assert outcome.seconds < 120 + 1000 / 32 + 70


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RequestError("deadline", ""), "which answers nothing"),
        (RequestError("overloaded", ""), "which answers with errors only"),
        (RequestError("connection", ""), "which cannot be reached"),
        (RequestError("rate_limited", "", retry_after_seconds=50), "which asked for a pause"),
    ],
)
def test_what_a_run_waits_for_is_named(ledger: AnswerLedger, error: RequestError, words: str) -> None:
    model, waits = Model(), set()
    model.script = lambda *_: error if len(model.asked) <= 14 else None
    run(generate(requests(12), model, ledger, settings(), progress=lambda at: waits.add(at.waiting_for)))
    assert waits >= {"", f"the provider, {words}"}
    assert held(ledger) == every(12)


def test_an_outage_without_end_ends_the_run(ledger: AnswerLedger) -> None:
    """After ten minutes without a single answer the run stops, says so, and keeps what came before."""
    model = Model(latency_seconds=0.5, script=outage(1010, 1e9))
    outcome = run(generate(requests(2000), model, ledger, settings(concurrency=16)))
    assert "given no answer for 1" in (outcome.stopped_because or "")
    assert "connection: refused" in (outcome.stopped_because or "")
    assert 600 <= outcome.seconds <= 700
    assert held(ledger) == set(model.answered)
    assert len(held(ledger)) >= 300


def test_retry_after_holds_for_all_slots(ledger: AnswerLedger) -> None:
    """A rate limit that asks for 40 seconds is asked nothing at all for 40 seconds, and then everything comes."""
    limited, model = RequestError("rate_limited", "slow down", retry_after_seconds=40), Model()
    model.script = lambda *_: None if model.answered or now() > 1001 else limited
    run(generate(requests(200), model, ledger, settings(concurrency=8)))
    assert [one for one in model.asked if 1001 < one.at < 1041] == []
    assert held(ledger) == every(200)


def test_a_request_without_an_answer_in_time_is_asked_again(ledger: AnswerLedger) -> None:
    """A provider that hangs once costs one deadline; its sample comes with the next attempt."""

    class Hanging(Model):
        async def ask(self, request: Request) -> Reply:
            self.latency_seconds = 1.0 if self.asked else 10_000
            return await super().ask(request)

    outcome = run(generate(requests(5), Hanging(), ledger, settings(timeout_seconds=30.0)))
    assert held(ledger) == every(5)
    assert outcome.totals.errors == {"deadline": 1}
    assert outcome.seconds < 40


def test_a_pause_of_hours_is_not_waited_for_in_silence(ledger: AnswerLedger) -> None:
    model = Model(script=lambda *_: RequestError("rate_limited", "daily limit", retry_after_seconds=7200))
    outcome = run(generate(requests(100), model, ledger, settings(concurrency=4)))
    assert "asks to wait 120 minutes" in (outcome.stopped_because or "")
    assert outcome.seconds < 10


@pytest.mark.slow
def test_concurrency_finds_what_a_provider_bears(ledger: AnswerLedger) -> None:
    """A provider with room for six, asked by 32 slots, is slowed down for, fully used, and fails no sample."""

    class Narrow(Model):
        async def ask(self, request: Request) -> Reply:
            if self.in_flight >= 6:
                await asyncio.sleep(0.05)
                raise RequestError("rate_limited", "too many")
            return await super().ask(request)

    outcome = run(generate(requests(600), Narrow(), ledger, settings(concurrency=32)))
    assert held(ledger) == every(600)
    assert outcome.failures == ()
    assert outcome.seconds < 3 * 600 / 6


def test_requests_a_minute_are_spread_evenly(ledger: AnswerLedger) -> None:
    model = Model()
    run(generate(requests(300), model, ledger, settings(requests_per_minute=120)))
    distances = [later.at - earlier.at for earlier, later in pairwise(model.asked)]
    assert 0.44 < min(distances) <= max(distances) < 0.56
    assert model.asked[-1].at - model.asked[0].at == pytest.approx(299 / 2, abs=1)


def test_tokens_a_minute_are_kept_and_used(ledger: AnswerLedger) -> None:
    """Real tokens stay within the limit and reach most of it, although each answer might have been much longer."""
    model = Model(completion_tokens=90)
    run(generate(requests(600, max_tokens=1000), model, ledger, settings(tokens_per_minute=12_000)))
    starts = [one.at for one in model.asked]
    most = max(100 * sum(start <= at < start + 60 for at in starts) for start in starts)
    assert most <= 12_000 + 1_100
    assert (starts[-1] - starts[0]) == pytest.approx(600 * 100 / 12_000 * 60, rel=0.1)


def by_tokens(usage: TokenUsage) -> float | None:
    return None if usage.completion_tokens is None else usage.completion_tokens / 1000


@pytest.mark.parametrize(("spent_usd", "answers"), [(0.0, 96), (1.0, 46)])
def test_cost_never_exceeds_its_limit_and_reaches_most_of_it(
    ledger: AnswerLedger, spent_usd: float, answers: int
) -> None:
    """Dear answers are possible, cheap ones come: the limit is kept at every moment, and used up to one answer.

    What batches and earlier rounds cost counts towards it.
    """
    model, limits = Model(completion_tokens=20), settings(concurrency=16, max_cost_usd=2.0)
    outcome = run(generate(requests(1000), model, ledger, limits, price=by_tokens, spent_usd=spent_usd))
    assert outcome.totals.cost_usd == pytest.approx(1.92)
    assert "max_cost_usd: 1.9200 of 2 US dollars are spent" in (outcome.stopped_because or "")
    assert "raise generation.requests.max_cost_usd" in (outcome.stopped_because or "")
    assert held(ledger) == set(model.answered)
    assert len(model.answered) == answers
    assert outcome.failures == ()


@pytest.mark.slow
def test_an_attempt_gives_back_what_it_set_aside(ledger: AnswerLedger) -> None:
    """Even where its request is asked again, expected to be cheaper, before the attempt has left the shared limit."""

    pauses = iter([10.0])

    @asynccontextmanager
    async def slow_to_leave() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.sleep(next(pauses, 0.0))

    unlucky = at_random(1.0, "connection")
    model = Model(script=lambda asked, before: None if before or asked.task_id != "Task/0" else unlucky(asked, before))
    limits = settings(concurrency=2, max_cost_usd=6.5)  # 300 answers cost 6, and the first may cost 1
    policy = RetryPolicy(first_backoff_seconds=1.0)
    asked = requests(300, max_tokens=None)
    outcome = run(generate(asked, model, ledger, limits, price=by_tokens, policy=policy, shared_limit=slow_to_leave))
    assert outcome.stopped_because is None
    assert held(ledger) == every(300)


def test_a_cost_limit_without_a_price_is_an_error_before_anything_is_sent(ledger: AnswerLedger) -> None:
    """Nobody is charged for a limit that cannot be kept."""
    model = Model()
    with pytest.raises(GenerationError, match="no price is known"):
        run(generate(requests(10), model, ledger, settings(max_cost_usd=1.0)))
    assert model.asked == []


def test_unknown_prices_are_no_zeros(ledger: AnswerLedger) -> None:
    prices = iter([0.5, None, None, 0.25])
    outcome = run(generate(requests(4), Model(), ledger, settings(), price=lambda _: next(prices)))
    assert outcome.totals.cost_usd == 0.75
