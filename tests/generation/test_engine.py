"""The engine on a jumping clock: answers are kept, bought once, and asked for without idle slots."""

import asyncio
import os
import threading
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation import engine
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.engine import GenerationProgress
from bigcodeflow.generation.model_api import Answer, Reply, Request, RequestError, TokenUsage

from .in_process import Model, at_random, cancelled, every, generate, held, now, request, requests, run, settings
from .providers.double import LIMIT_SECONDS
from .test_answers import files_no_larger_than


@pytest.fixture
def synced_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the files that were synced, at that moment."""
    sizes, sync = list[int](), os.fdatasync

    def noting(descriptor: int) -> None:
        sizes.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", noting)
    return sizes


def test_every_sample_is_asked_for_once_and_more_samples_keep_those_that_are_there(ledger: AnswerLedger) -> None:
    """A second run asks for nothing; one that wants three samples a task asks for the other two only."""
    first, second, third = Model(), Model(), Model()
    outcome = run(generate(requests(20), first, ledger, settings()))
    assert held(ledger) == every(20)
    assert outcome.failures == ()
    assert outcome.stopped_because is None
    assert run(generate(requests(20), second, ledger, settings())).totals.samples_known == 20
    assert second.asked == []
    outcome = run(generate(requests(20, samples=3), third, ledger, settings()))
    assert sorted(third.asked_ids) == sorted(every(20, 3) - every(20))
    assert held(ledger) == every(20, 3)
    assert (outcome.totals.samples_known, outcome.totals.samples_recorded) == (20, 40)


def test_a_record_holds_what_was_sent_and_what_came(ledger: AnswerLedger) -> None:
    """Each reply is kept with the exact body, its tokens, price, latency and number of attempts."""

    def fails_once(_request: Request, before: int) -> RequestError | None:
        return RequestError("connection", "dropped") if before == 0 else None

    model = Model(latency_seconds=2.0, script=fails_once)
    run(generate([request(1, seed=5)], model, ledger, settings(), price=lambda _: 0.5))
    (kept,) = ledger.records()
    assert kept.body == {"prompt": "Task 1, please.", "seed": 5, "n": 1}
    assert kept.answers == (Answer("Task/1, sample 0", "stop"),)
    assert kept.usage == TokenUsage(10, 20)
    assert (kept.served_model, kept.cost_usd, kept.attempts, kept.latency_seconds) == ("served-model", 0.5, 2, 2.0)
    assert (kept.seed, kept.template_sha, kept.prompt_sha) == (5, "template", request(1).prompt_sha)


def test_every_slot_is_busy_until_the_end(ledger: AnswerLedger) -> None:
    """With ten slots and a second of latency 500 requests take 50 seconds, and never more than ten are under way."""
    model = Model()
    outcome = run(generate(requests(500), model, ledger, settings(concurrency=10)))
    assert model.most_in_flight == 10
    assert 50 <= outcome.seconds <= 50.5


def test_requests_are_read_when_there_is_room_for_them(ledger: AnswerLedger) -> None:
    """A source of any length is never read further ahead than the slots and one more."""
    model, furthest = Model(), 0

    def source() -> Iterator[Request]:
        nonlocal furthest
        for read, one in enumerate(requests(200), start=1):
            furthest = max(furthest, read - len(model.answered))
            yield one

    run(generate(source(), model, ledger, settings(concurrency=8)))
    assert held(ledger) == every(200)
    assert furthest <= 8 + 1


def test_a_request_that_comes_twice_is_asked_once(ledger: AnswerLedger) -> None:
    model = Model()
    run(generate([request(1), request(1), request(1, 0, 1)], model, ledger, settings()))
    assert sorted(model.asked_ids) == [("Task/1", 0), ("Task/1", 1)]


def test_what_is_missing_is_asked_for_with_seeds_of_its_own(ledger: AnswerLedger) -> None:
    """Gaps become requests whose seed moved along; so does what a server left out that returns fewer answers."""
    run(generate([request(1, 1, seed=101)], Model(), ledger, settings()))
    model = Model()
    model.script = lambda asked, _before: model.reply(asked, answers=2)
    run(generate([request(1, 0, 1, 2, 3, 4, 5, seed=100)], model, ledger, settings()))
    asked = [(one.request.sample_indices, one.request.seed) for one in model.asked]
    assert asked == [((0,), 100), ((2, 3, 4, 5), 102), ((4, 5), 104)]
    assert held(ledger) == every(2, 6) - every(1, 6)


def test_what_a_provider_refuses_is_an_answer(ledger: AnswerLedger) -> None:
    """It is recorded with its reason, and not asked for again."""
    model = Model(script=lambda *_: RequestError("refused", "content policy"))
    assert run(generate(requests(1), model, ledger, settings())).failures == ()
    [kept] = ledger.answers()
    assert kept.answer == Answer("", "refusal", error="content policy")
    assert len(model.asked) == 1


def test_what_came_is_on_the_disk_when_a_run_ends(ledger: AnswerLedger, synced_bytes: list[int]) -> None:
    """Samples are counted after a sync only, a few syncs serve many replies, and a cancelled run syncs its last."""
    model, seen = Model(), list[tuple[int, int]]()

    def report(progress: GenerationProgress) -> None:
        if now() < 1003.02:
            seen.append((progress.samples_recorded, len(synced_bytes)))

    # The third round has come, its group is not due; the fourth comes after the end.
    cancelled(generate(requests(500), model, ledger, settings(concurrency=50), progress=report), 3.01)
    assert seen[-1] == (100, 2)
    assert synced_bytes[-1] == (ledger.folder / "replies-000001.jsonl").stat().st_size
    assert len(synced_bytes) == 4
    assert len(held(ledger)) == len(model.answered) == 200


def test_a_reply_survives_a_cancellation_while_the_shared_limit_is_given_back(ledger: AnswerLedger) -> None:
    """Nothing is waited for between a reply and its record, not even the limit around the request."""

    @asynccontextmanager
    async def slow_to_leave() -> AsyncIterator[None]:
        yield
        await asyncio.sleep(1000)

    cancelled(generate(requests(3), Model(), ledger, settings(), shared_limit=slow_to_leave), 5)
    assert held(ledger) == every(3)


def test_a_cancelled_run_does_not_wait_for_ever(ledger: AnswerLedger) -> None:
    """What does not come within the grace is given up, and the line says how much came."""
    model, lines = Model(latency_seconds=1000.0), list[str]()
    assert 10 <= cancelled(generate(requests(5), model, ledger, settings(), notify=lines.append), 1) < 11
    assert lines[-1].startswith("0 of 5 replies came")
    assert held(ledger) == set()


def test_a_shared_limit_is_held_around_each_request(ledger: AnswerLedger) -> None:
    model, places = Model(), asyncio.Semaphore(3)
    run(generate(requests(20), model, ledger, settings(), shared_limit=lambda: places))
    assert model.most_in_flight == 3
    assert held(ledger) == every(20)


def test_requests_that_wait_for_the_shared_limit_are_not_sent_after_a_stop(ledger: AnswerLedger) -> None:
    """A stopped run sends nothing, whatever its requests were waiting for."""
    model, places = Model(script=lambda *_: RequestError("authentication", "no such key")), asyncio.Semaphore(1)
    outcome = run(generate(requests(50), model, ledger, settings(), shared_limit=lambda: places))
    assert outcome.stopped_because is not None
    assert len(model.asked) == 1


def test_two_runs_of_one_setting_pay_once(ledger: AnswerLedger) -> None:
    """The second run waits for the first, says so once, and asks only for what the first did not."""
    first, second, messages, waits = Model(), Model(), list[str](), threading.Event()

    def told(message: str) -> None:
        messages.append(message)
        waits.set()

    def ask_second() -> None:
        run(generate(requests(30), second, AnswerLedger(ledger.folder), settings(), notify=told))

    with ThreadPoolExecutor() as pool:
        with ledger.writing() as writer:
            later = pool.submit(ask_second)
            assert waits.wait(LIMIT_SECONDS)
            run(engine.generate(requests(20), first, writer, settings()))
        later.result(LIMIT_SECONDS)
    assert set(first.asked_ids) == every(20)
    assert set(second.asked_ids) == every(30) - every(20)
    assert len(messages) == 1


def test_a_fault_of_the_program_is_raised_as_it_is_and_loses_nothing(ledger: AnswerLedger) -> None:
    """An exception that no provider should raise ends the run with itself; what had come is recorded."""

    class Buggy(Model):
        async def ask(self, request: Request) -> Reply:
            reply = await super().ask(request)
            if request.task_id == "Task/50":
                raise KeyError(request.task_id)
            return reply

    model = Buggy()
    with pytest.raises(KeyError, match="Task/50"):
        run(generate(requests(100), model, ledger, settings(concurrency=8)))
    assert held(ledger) == set(model.answered) - {("Task/50", 0)}


def test_a_report_that_raises_loses_nothing_that_is_under_way(ledger: AnswerLedger) -> None:
    """Whoever is reported to may end the run, as Prefect does when it cancels one: what is paid for is kept."""
    model = Model()

    def report(progress: GenerationProgress) -> None:
        if progress.samples_done >= 30:
            raise KeyError(progress.samples_done)

    with pytest.raises(KeyError):
        run(generate(requests(100), model, ledger, settings(concurrency=10), progress=report))
    assert len(model.asked) < 100
    assert held(ledger) == set(model.asked_ids)


def test_a_full_disk_ends_the_run_before_more_is_paid_for(ledger: AnswerLedger) -> None:
    """Answers that cannot be kept are not asked for; those that were kept stay."""
    model = Model()
    with files_no_larger_than(5_000), pytest.raises(GenerationError, match="cannot be stored"):
        run(generate(requests(1000), model, ledger, settings(concurrency=4)))
    kept = held(ledger)
    assert 5 <= len(kept) <= 20
    assert len(model.asked) <= len(kept) + 8


def test_progress_tells_the_whole_story(ledger: AnswerLedger) -> None:
    """Reports come a few times a second at most, never go back, and end with what the outcome says."""
    run(generate(requests(10), Model(), ledger, settings()))
    seen: list[tuple[float, GenerationProgress]] = []
    model, eight = Model(script=at_random(0.2, "connection")), settings(concurrency=8)
    outcome = run(generate(requests(400), model, ledger, eight, progress=lambda at: seen.append((now(), at))))
    reports = [at for _, at in seen]
    assert reports[-1] == outcome.totals
    assert (reports[-1].samples_done, reports[-1].samples_known, reports[-1].in_flight) == (400, 10, 0)
    done = [at.samples_done for at in reports]
    assert done == sorted(done)
    assert min(later - earlier for (earlier, _), (later, _) in pairwise(seen[:-1])) >= 0.25
    middle = reports[len(reports) // 2]
    assert middle.in_flight == 8
    assert 0 < middle.longest_seconds < middle.limit_seconds
    assert f"8 open, longest {middle.longest_seconds:.0f} s (limit {middle.limit_seconds:.0f} s)" in middle.in_words()
    assert middle.samples_per_second == pytest.approx(400 / outcome.seconds, rel=0.3)
    assert middle.prompt_tokens == pytest.approx(10 * middle.samples_recorded, abs=100)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_answers(ledger: AnswerLedger) -> None:
    """Four hundred answers of 100 kB each, four at a time, leave only what is under way in memory."""
    text = "x" * 100_000

    def long_answer(asked: Request, _before: int) -> Reply:
        return Reply((Answer(f"{asked.task_id} {text}", "stop"),), TokenUsage(1, 1))

    tracemalloc.start()
    run(generate(requests(400), Model(script=long_answer), ledger, settings(concurrency=4)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held(ledger) == every(400)
    assert peak < 8_000_000
