"""Asks a model for every answer that is not there yet: none is lost, none is paid for twice, no slot stays idle.

One loop decides when the next request goes; each request is a task of its own. A reply is handed to the ledger in the
same step in which it comes, so that no cancellation finds it in between. The event loop's clock is the only one.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple

from bigcodeflow.config import RequestsConfig
from bigcodeflow.generation.answer_ledger import AnswerLedger, AnswerWriter, GroupCommit, OnWait, ReplyRecord
from bigcodeflow.generation.costs import ReplyPrice, Spending
from bigcodeflow.generation.job_queue import QueuedRequest, RequestQueue
from bigcodeflow.generation.model_api import Answer, ErrorKind, Reply, Request, RequestError, TokenUsage
from bigcodeflow.generation.providers import Provider
from bigcodeflow.generation.retries import (
    Circuit,
    Expectation,
    Pace,
    RetryBudget,
    RetryPolicy,
    Throttle,
    backoff_seconds,
)

SharedLimit = Callable[[], AbstractAsyncContextManager[Any]]
"""Makes what is entered around each request, such as a limit that several processes share."""

_SECONDS_BETWEEN_REPORTS = 0.25
#: Waits that are worth telling people about.
_LONG_WAIT_SECONDS = 1.0
_RATE_WINDOW_SECONDS = 60.0
_FOREVER = float("inf")
_GO_ON = "what came is kept; run again to go on"
_REMEDIES: dict[ErrorKind, str] = {
    "quota": "add to the account",
    "authentication": "check the key and what it may be used for",
    "not_found": "check the model's name and base_url",
    "bad_request": "check the settings of sampling, prompt and extra_body",
}


@dataclass(slots=True)
class GenerationProgress:
    """A run at one moment. Samples count as recorded once they are on the disk."""

    samples_total: int | None = None
    """Samples wanted in all; None where the caller did not say."""
    samples_known: int = 0
    """Answered by earlier runs."""
    samples_recorded: int = 0
    """Answered by this run."""
    samples_failed: int = 0
    """Given up for this run."""
    requests_sent: int = 0
    """Requests of this run, retries included."""
    retries: int = 0
    in_flight: int = 0
    """Requests under way."""
    concurrency: int = 0
    """Requests that may be under way now; fewer than the setting while the provider says that it is too much."""
    errors: Counter[ErrorKind] = field(default_factory=Counter)
    """Requests that ended without an answer, by kind."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """Of the replies whose price is known; None where none is."""
    unpriced_replies: int = 0
    """Replies whose price is not known, and which cost_usd leaves out."""
    samples_per_second: float = 0.0
    """Over the last minute."""
    waiting_for: str = ""
    """Why no request is sent, where it takes longer; empty otherwise."""

    @property
    def samples_done(self) -> int:
        """Samples that are there."""
        return self.samples_known + self.samples_recorded

    @property
    def seconds_left(self) -> float | None:
        """Time that the rest takes at the present rate; None where that cannot be said."""
        if self.samples_total is None or not self.samples_per_second:
            return None
        left = self.samples_total - self.samples_done - self.samples_failed
        return max(0, left) / self.samples_per_second

    def in_words(self) -> str:
        """How the run goes, in a few words."""
        parts = [f"{self.samples_per_second:.1f}/s"]
        if self.prompt_tokens or self.completion_tokens:
            parts.append(f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens")
        if self.cost_usd is not None:
            parts.append(f"${self.cost_usd:.4f}")
        parts += [f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(self.errors.items())]
        if self.samples_failed:
            parts.append(f"{self.samples_failed} given up")
        if self.waiting_for:
            parts.append(f"waits for {self.waiting_for}")
        return ", ".join(parts)


class SampleFailure(NamedTuple):
    """A sample without an answer; the next run asks for it again."""

    task_id: str
    sample_index: int
    kind: ErrorKind
    message: str
    """What the last request ended with."""
    attempts: int


class GenerationOutcome(NamedTuple):
    """What came of a run."""

    totals: GenerationProgress
    failures: tuple[SampleFailure, ...]
    """In the order of task and sample."""
    stopped_because: str | None
    """Why the run ended before everything had been asked, in one line with what to do; None where it did not."""
    seconds: float


Report = Callable[[GenerationProgress], None]
"""Called in the event loop, a few times a second at most, and at the end."""


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
        loop = _RequestLoop(provider, writer, settings, price, policy or RetryPolicy(), report=progress)
        return await loop.run(requests, total, shared_limit)


class _RequestLoop:
    def __init__(
        self,
        provider: Provider,
        writer: AnswerWriter,
        settings: RequestsConfig,
        price: ReplyPrice | None,
        policy: RetryPolicy,
        *,
        report: Report,
    ) -> None:
        self._provider, self._settings, self._policy, self._report_to = provider, settings, policy, report
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
        self._recorded: deque[tuple[float, int]] = deque()
        """Time and samples recorded, over the last minute."""
        self._failures: list[SampleFailure] = []
        self._replies = 0
        self._stopped_because: str | None = None
        self._changed = asyncio.Event()
        self._now = asyncio.get_running_loop().time
        self._reported_at = -_FOREVER

    async def run(self, requests: Iterable[Request], total: int | None, shared_limit: SharedLimit) -> GenerationOutcome:
        """Ask until there is nothing left to ask."""
        self._queue = RequestQueue(requests, self._known)
        self._progress.samples_total = total
        started = self._now()
        try:
            async with asyncio.TaskGroup() as group:
                await self._dispatch(group, shared_limit)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None  # the first ended the others
        finally:
            await self._commit.close()
        for job in self._queue.waiting_retries():
            self._give_up(job)
        totals = self._snapshot("")
        self._report_to(totals)
        return GenerationOutcome(totals, tuple(sorted(self._failures)), self._stopped_because, self._now() - started)

    async def _dispatch(self, group: asyncio.TaskGroup, shared_limit: SharedLimit) -> None:
        """Send requests, each as soon as nothing stands in its way, until all have ended."""
        while True:
            self._commit.check()
            now = self._now()
            delay_seconds, reason = self._obstacle(now)
            if now >= self._reported_at + _SECONDS_BETWEEN_REPORTS:
                self._reported_at = now
                self._report_to(self._snapshot(reason))
            if delay_seconds <= 0.0:
                job = self._queue.take(now)
                expected = self._expectation.usual(job.request)
                expected_usd = self._spending.expected(self._expectation.longest(job.request))
                self._spending.reserve(expected_usd)
                self._pace.sent(now, expected)
                self._progress.in_flight += 1
                probe = self._circuit.sent()
                group.create_task(self._attempt(job, expected, expected_usd, probe=probe, shared_limit=shared_limit))
                await asyncio.sleep(0)  # lets it go before the next is thought about
            elif delay_seconds == _FOREVER and not self._progress.in_flight and self._commit.idle:
                return
            else:  # until a request ends or a reply is written, but not longer
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(delay_seconds, _SECONDS_BETWEEN_REPORTS)):
                        await self._changed.wait()

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
        if longest_seconds <= 0.0:
            expected = self._expectation.longest(self._queue.first(now).request)
            if not self._spending.has_room(self._spending.expected(expected)):
                if not self._progress.in_flight:  # what is under way may turn out cheaper than it was expected to
                    self._stop(self._spending.limit_reached)
                return _FOREVER, ""
        return longest_seconds, next((reason for seconds, reason in waits if seconds >= _LONG_WAIT_SECONDS), "")

    async def _attempt(
        self, job: QueuedRequest, expected: TokenUsage, expected_usd: float, *, probe: bool, shared_limit: SharedLimit
    ) -> None:
        """Send a request that has been counted, and note what it ends with."""
        try:
            async with shared_limit():
                if self._stopped_because is not None:  # it waited for the shared limit meanwhile
                    self._queue.put_back(job, _FOREVER)
                    return
                body = self._provider.body(job.request)
                self._budget.sent(retry=job.error is not None and job.error.kind != "rate_limited")
                self._progress.requests_sent += 1
                self._progress.retries += job.attempts > 0
                job.attempts += 1
                sent_at, started_at = self._now(), datetime.now(UTC)
                try:
                    reply = await self._ask(job.request)
                except RequestError as error:
                    if error.kind != "refused":
                        self._failed(job, error, probe=probe, sent_at=sent_at)
                        return
                    reply = Reply(tuple(Answer("", "refusal") for _ in job.request.sample_indices), TokenUsage())
                record = ReplyRecord.of(
                    job.request,
                    reply,
                    body=body,
                    latency_seconds=self._now() - sent_at,
                    attempts=job.attempts,
                    cost_usd=self._spending.of(reply.usage, reply.served_model),
                    sent_at=started_at,
                )
                self._received(job, record, expected, expected_usd)
        finally:
            self._spending.reserve(-expected_usd)
            self._progress.in_flight -= 1
            self._changed.set()

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

    def _received(self, job: QueuedRequest, record: ReplyRecord, expected: TokenUsage, expected_usd: float) -> None:
        self._commit.put(record)
        self._spending.spend(record.cost_usd, expected_usd)
        self._expectation.learn(record.usage, len(record.answers))
        self._pace.answered(expected, record.usage)
        self._throttle.answered()
        self._circuit.answered()
        self._replies += 1
        self._progress.prompt_tokens += record.usage.prompt_tokens or 0
        self._progress.completion_tokens += record.usage.completion_tokens or 0
        self._progress.unpriced_replies += record.cost_usd is None
        if len(record.answers) < len(job.request.sample_indices):
            self._queue.put_rest(job, len(record.answers))

    def _failed(self, job: QueuedRequest, error: RequestError, *, probe: bool, sent_at: float) -> None:
        job.error = error
        self._progress.errors[error.kind] += 1
        described = f"{error.kind.replace('_', ' ')}: {error}"
        if not error.worth_another_try:  # the same request will always end so
            self._circuit.answered()  # the provider is there
            self._give_up(job)
            row = self._policy.failures_in_a_row
            wrong_for_all = not self._replies and not self._known and len(self._failures) >= row
            if error.concerns_every_request or wrong_for_all:
                self._stop(f"{described}: {_REMEDIES.get(error.kind, 'check the settings')}; {_GO_ON}")
            return
        now = self._now()
        if error.kind in {"rate_limited", "overloaded"}:
            self._throttle.refused(error, sent_at=sent_at, now=now)
        hopeless = self._circuit.failed(error, now, probe=probe)
        wait_seconds = error.retry_after_seconds or 0.0
        if not hopeless and wait_seconds > self._policy.longest_retry_after_seconds:
            hopeless = f"the provider asks to wait {wait_seconds / 60:.0f} minutes"
        hopeless = hopeless or self._budget.used_up
        if job.attempts >= self._settings.attempts:
            self._give_up(job)
        else:
            self._queue.put_back(job, now + backoff_seconds(self._policy, job.attempts, error, self._random))
        if hopeless:
            self._stop(f"{hopeless}: {described}: {_GO_ON}")

    def _give_up(self, job: QueuedRequest) -> None:
        error = job.error
        if error is not None:
            self._failures.extend(
                SampleFailure(job.request.task_id, index, error.kind, str(error), job.attempts)
                for index in job.request.sample_indices
            )

    def _stop(self, reason: str) -> None:
        """Send nothing any more; the first reason is the one that is reported."""
        self._stopped_because = self._stopped_because or reason

    def _on_synced(self, samples: int) -> None:
        self._progress.samples_recorded += samples
        self._changed.set()

    def _snapshot(self, waiting_for: str) -> GenerationProgress:
        now, recorded = self._now(), self._progress.samples_recorded
        self._recorded.append((now, recorded))
        while self._recorded[0][0] < now - _RATE_WINDOW_SECONDS:
            self._recorded.popleft()
        since, before = self._recorded[0]
        return replace(
            self._progress,
            samples_known=self._queue.samples_known,
            samples_failed=len(self._failures),
            concurrency=self._throttle.limit,
            errors=self._progress.errors.copy(),
            cost_usd=self._spending.cost_usd,
            samples_per_second=(recorded - before) / (now - since) if now > since else 0.0,
            waiting_for=waiting_for,
        )
