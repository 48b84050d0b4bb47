"""Asks a model for every answer that is not there yet: none is lost, none is paid for twice, no slot stays idle.

One loop decides when the next request goes; each request is a task of its own. A reply is handed to the ledger in the
same step in which it comes, so that no cancellation finds it in between. The event loop's clock is the only one.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from bigcodeflow.config import RequestsConfig
from bigcodeflow.generation.answer_ledger import AnswerLedger, AnswerWriter, GroupCommit, OnWait, ReplyRecord
from bigcodeflow.generation.costs import ReplyPrice, Spending
from bigcodeflow.generation.job_queue import QueuedRequest, RequestQueue
from bigcodeflow.generation.model_api import Answer, ErrorKind, Reply, Request, RequestError, TokenUsage
from bigcodeflow.generation.progress import GenerationOutcome, GenerationProgress, RecentRate, SampleFailure
from bigcodeflow.generation.providers.base import Provider
from bigcodeflow.generation.rate_limits import Expectation, Pace, Throttle
from bigcodeflow.generation.retries import Circuit, RetryBudget, RetryPolicy, backoff_seconds

SharedLimit = Callable[[], AbstractAsyncContextManager[Any]]
"""Makes what is entered around each request, such as a limit that several processes share."""
Report = Callable[[GenerationProgress], None]
"""Called in the event loop, a few times a second at most, and at the end."""

_SECONDS_BETWEEN_REPORTS = 0.25
#: Waits that are worth telling people about.
_LONG_WAIT_SECONDS = 1.0
_FOREVER = float("inf")
_GO_ON = "what came is kept; run again to go on"
_REMEDIES: dict[ErrorKind, str] = {
    "quota": "add to the account",
    "authentication": "check the key and what it may be used for",
    "not_found": "check the model's name and base_url",
    "bad_request": "check the settings of sampling, prompt and extra_body",
}


@dataclass(slots=True)
class _Sending:
    """One attempt: what was counted for it, and when it went."""

    expected: TokenUsage
    expected_usd: float
    probe: bool
    sent_at: float = 0.0
    started_at: datetime | None = None


async def generate(
    requests: Iterable[Request],
    provider: Provider,
    ledger: AnswerLedger,
    settings: RequestsConfig,
    *,
    total: int | None = None,
    price: ReplyPrice | None = None,
    progress: Report = lambda _: None,
    waiting: OnWait = lambda _: None,
    shared_limit: SharedLimit = nullcontext,
    policy: RetryPolicy | None = None,
) -> GenerationOutcome:
    """Ask for every sample of the requests that the ledger does not hold, and record the replies.

    The ledger is held meanwhile: a second run of the same setting waits, and then uses what this one recorded. A run
    that is cancelled ends at once; what had come is recorded. Whatever the provider does ends in the outcome, not in
    an exception: samples that were given up are its failures, and a run that cannot go on says why in stopped_because,
    after the requests under way have ended.

    Args:
        requests: what is wanted, read one by one as slots become free.
        provider: the open connection to the model.
        ledger: where answers are, and are put.
        settings: limits and patience.
        total: samples wanted in all, for progress.
        price: what a reply costs; needed where the settings limit the cost.
        progress: called with how far the run has come.
        waiting: called when another run holds the ledger.
        shared_limit: entered around each request, beside the limits of the settings.
        policy: when to ask again and when to stop asking.

    Raises:
        GenerationError: the disk takes no answers, or cost is limited and no price is known.
    """
    async with ledger.writing_async(waiting) as writer:
        loop = _RequestLoop(provider, writer, settings, price, policy or RetryPolicy())
        return await loop.run(requests, total, progress, shared_limit)


class _RequestLoop:
    def __init__(
        self,
        provider: Provider,
        writer: AnswerWriter,
        settings: RequestsConfig,
        price: ReplyPrice | None,
        policy: RetryPolicy,
    ) -> None:
        self._provider, self._settings, self._policy = provider, settings, policy
        self._known = writer.known
        self._commit = GroupCommit(writer, self._on_synced)
        self._expectation = Expectation()
        self._spending = Spending(price, settings.max_cost_usd)
        self._pace = Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self._random = Random()  # noqa: S311 -- spreads waits, keeps no secret
        self._throttle = Throttle(settings.concurrency, self._random)
        self._budget = RetryBudget(policy, settings.concurrency)
        self._circuit = Circuit(policy)
        self._progress = GenerationProgress()
        self._rate = RecentRate()
        self._failures: list[SampleFailure] = []
        self._replies = 0
        self._stopped_because: str | None = None
        self._changed = asyncio.Event()
        self._now = asyncio.get_running_loop().time
        self._reported_at = -_FOREVER

    async def run(
        self, requests: Iterable[Request], total: int | None, report: Report, shared_limit: SharedLimit
    ) -> GenerationOutcome:
        """Ask until there is nothing left to ask."""
        self._queue = RequestQueue(requests, self._known)
        self._report_to, self._shared_limit = report, shared_limit
        self._progress.samples_total = total
        started = self._now()
        try:
            async with asyncio.TaskGroup() as group:
                await self._dispatch(group)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None  # the first ended the others
        finally:
            await self._commit.close()
        for job in self._queue.waiting_retries():
            self._give_up(job)
        totals = self._snapshot()
        self._report_to(totals)
        return GenerationOutcome(totals, tuple(sorted(self._failures)), self._stopped_because, self._now() - started)

    async def _dispatch(self, group: asyncio.TaskGroup) -> None:
        """Send requests, each as soon as nothing stands in its way, until all have ended."""
        while True:
            self._commit.check()
            now = self._now()
            delay_seconds, reason = self._obstacle(now)
            self._report(now, reason)
            if delay_seconds <= 0.0:
                job = self._queue.take(now)
                group.create_task(self._attempt(job, self._sending(job, now)))
                await asyncio.sleep(0)  # lets it go before the next is thought about
            elif delay_seconds == _FOREVER and not self._progress.in_flight and self._commit.idle:
                return
            else:
                await self._change(min(delay_seconds, _SECONDS_BETWEEN_REPORTS))

    def _obstacle(self, now: float) -> tuple[float, str]:
        """Seconds until the next request may go, infinite where another must end first; and what is waited for."""
        if self._stopped_because is not None:
            return _FOREVER, "requests under way to end"
        due_seconds = self._queue.delay(now)
        if due_seconds == _FOREVER or self._progress.in_flight >= self._throttle.limit:
            return _FOREVER, ""
        waits = (
            (self._throttle.delay(now), "the provider, which asked for a pause"),
            (self._circuit.delay(now), "the provider, which answers nothing"),
            (self._pace.delay(now), "the limits per minute"),
            (due_seconds, "requests that are to be asked again"),
        )
        longest_seconds = max(seconds for seconds, _ in waits)
        if longest_seconds <= 0.0 and not self._affordable(now):
            return _FOREVER, ""
        return longest_seconds, next((reason for seconds, reason in waits if seconds >= _LONG_WAIT_SECONDS), "")

    def _affordable(self, now: float) -> bool:
        expected = self._expectation.longest(self._queue.first(now).request)
        if self._spending.has_room(self._spending.expected(expected)):
            return True
        if not self._progress.in_flight:  # what is under way may turn out cheaper than it was expected to
            self._stop(self._spending.limit_reached)
        return False

    async def _change(self, seconds: float) -> None:
        """Wait for a request to end or a reply to be written, but not longer than so many seconds."""
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    def _sending(self, job: QueuedRequest, now: float) -> _Sending:
        """Count a request that goes now."""
        expected = self._expectation.usual(job.request)
        expected_usd = self._spending.expected(self._expectation.longest(job.request))
        self._spending.reserve(expected_usd)
        self._pace.sent(now, expected)
        self._progress.in_flight += 1
        return _Sending(expected, expected_usd, self._circuit.sent())

    async def _attempt(self, job: QueuedRequest, sending: _Sending) -> None:
        try:
            async with self._shared_limit():
                await self._exchange(job, sending)
        finally:
            self._spending.reserve(-sending.expected_usd)
            self._progress.in_flight -= 1
            self._changed.set()

    async def _exchange(self, job: QueuedRequest, sending: _Sending) -> None:
        if self._stopped_because is not None:  # it waited for the shared limit meanwhile
            self._queue.put_back(job, _FOREVER)
            return
        body = self._provider.body(job.request)
        self._budget.sent(retry=job.error is not None and job.error.kind != "rate_limited")
        self._progress.requests_sent += 1
        self._progress.retries += job.attempts > 0
        job.attempts += 1
        sending.sent_at, sending.started_at = self._now(), datetime.now(UTC)
        try:
            reply = await self._ask(job.request)
        except RequestError as error:
            if error.kind != "refused":
                self._failed(job, error, sending)
                return
            reply = Reply(tuple(Answer("", "refusal") for _ in job.request.sample_indices), TokenUsage())
        self._received(job, reply, body, sending)

    async def _ask(self, request: Request) -> Reply:
        seconds = self._settings.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                reply = await self._provider.ask(request)
        except TimeoutError:
            raise RequestError("deadline", f"no whole answer within {seconds:g} s") from None
        if not reply.answers:
            raise RequestError("malformed", "a reply without a single answer")
        return reply

    def _received(self, job: QueuedRequest, reply: Reply, body: Mapping[str, Any], sending: _Sending) -> None:
        cost_usd = self._spending.of(reply.usage, reply.served_model)
        record = ReplyRecord.of(
            job.request,
            reply,
            body=body,
            latency_seconds=self._now() - sending.sent_at,
            attempts=job.attempts,
            cost_usd=cost_usd,
            sent_at=sending.started_at,
        )
        self._commit.put(record)
        self._spending.spend(cost_usd, sending.expected_usd)
        self._expectation.learn(reply.usage, len(record.answers))
        self._pace.answered(sending.expected, reply.usage)
        self._throttle.answered()
        self._circuit.answered()
        self._replies += 1
        self._progress.prompt_tokens += reply.usage.prompt_tokens or 0
        self._progress.completion_tokens += reply.usage.completion_tokens or 0
        self._progress.unpriced_replies += cost_usd is None
        if len(record.answers) < len(job.request.sample_indices):
            self._queue.put_rest(job, len(record.answers))

    def _failed(self, job: QueuedRequest, error: RequestError, sending: _Sending) -> None:
        job.error = error
        self._progress.errors[error.kind] += 1
        if not error.worth_another_try:
            self._given_up_at_once(job, error)
            return
        now = self._now()
        if error.kind in {"rate_limited", "overloaded"}:
            self._throttle.refused(error, sent_at=sending.sent_at, now=now)
        hopeless = self._circuit.failed(error, now, probe=sending.probe) or self._hopeless(error)
        if job.attempts >= self._settings.attempts:
            self._give_up(job)
        else:
            self._queue.put_back(job, now + backoff_seconds(self._policy, job.attempts, error, self._random))
        if hopeless:
            self._stop(f"{hopeless}: {_described(error)}: {_GO_ON}")

    def _hopeless(self, error: RequestError) -> str | None:
        wait_seconds = error.retry_after_seconds or 0.0
        if wait_seconds > self._policy.longest_retry_after_seconds:
            return f"the provider asks to wait {wait_seconds / 60:.0f} minutes"
        return self._budget.used_up

    def _given_up_at_once(self, job: QueuedRequest, error: RequestError) -> None:
        """What the same request will always end with."""
        self._circuit.answered()  # the provider is there
        self._give_up(job)
        row = self._policy.failures_in_a_row
        wrong_for_all = not self._replies and not self._known and len(self._failures) >= row
        if error.concerns_every_request or wrong_for_all:
            remedy = _REMEDIES.get(error.kind, "check the settings")
            self._stop(f"{_described(error)}: {remedy}; {_GO_ON}")

    def _give_up(self, job: QueuedRequest) -> None:
        error = job.error
        if error is not None:
            self._failures.extend(
                SampleFailure(job.request.task_id, index, error.kind, str(error), job.attempts)
                for index in job.request.sample_indices
            )

    def _stop(self, reason: str) -> None:
        """Send nothing any more; the first reason is the one that is told."""
        self._stopped_because = self._stopped_because or reason

    def _on_synced(self, samples: int) -> None:
        self._progress.samples_recorded += samples
        self._changed.set()

    def _report(self, now: float, waiting_for: str) -> None:
        if now >= self._reported_at + _SECONDS_BETWEEN_REPORTS:
            self._reported_at = now
            self._report_to(self._snapshot(waiting_for))

    def _snapshot(self, waiting_for: str = "") -> GenerationProgress:
        return replace(
            self._progress,
            samples_known=self._queue.samples_known,
            samples_failed=len(self._failures),
            concurrency=self._throttle.limit,
            errors=self._progress.errors.copy(),
            cost_usd=self._spending.cost_usd,
            samples_per_second=self._rate.at(self._now(), self._progress.samples_recorded),
            waiting_for=waiting_for,
        )


def _described(error: RequestError) -> str:
    return f"{error.kind.replace('_', ' ')}: {error}"
