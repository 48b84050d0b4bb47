"""Ask a model for every missing answer: no answer is lost, no answer is paid for twice, no slot stays idle.

A single loop decides when the next request is sent; each request is a separate task. A reply is passed to the ledger
in the same step in which it arrives, so that a cancellation cannot lose it. All waits use the event loop's clock.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from random import Random
from typing import Any

from bigcodeflow.config import RequestsConfig
from bigcodeflow.generation import retries
from bigcodeflow.generation.answer_ledger import AnswerWriter, GroupCommit, OnWait, ReplyRecord
from bigcodeflow.generation.costs import ReplyPrice, Spending
from bigcodeflow.generation.model_api import Answer, ErrorKind, Reply, Request, RequestError, TokenUsage
from bigcodeflow.generation.outcome import GenerationOutcome, GenerationProgress, SampleFailure
from bigcodeflow.generation.providers import Provider

SharedLimit = Callable[[], AbstractAsyncContextManager[Any]]
"""Function that returns a context manager to enter for each request, such as a limit that processes share."""

_SECONDS_BETWEEN_REPORTS = 0.25
_RATE_WINDOW_SECONDS = 60.0
_AGAIN = "run again to go on"
_GO_ON = f"received answers are kept; {_AGAIN}"
_REMEDIES: dict[ErrorKind, str] = {
    "quota": "add credit to the provider's account",
    "authentication": "check the key and what it may be used for",
    "not_found": "check generation.model and generation.base_url",
    "bad_request": "check sampling, prompt and extra_body in generation",
    "ended": "correct generation.offline, such as memory_share or max_model_tokens",
    "unanswerable": "lower generation.sampling.max_tokens, or take a model or server with a longer context",
}


Report = Callable[[GenerationProgress], None]
"""Function that receives the progress, at most a few times a second, and at the end."""


async def generate(
    requests: Iterable[Request],
    provider: Provider,
    writer: AnswerWriter,
    settings: RequestsConfig,
    *,
    price: ReplyPrice | None = None,
    spent_usd: float = 0.0,
    progress: Report = lambda _: None,
    notify: OnWait = lambda _: None,
    shared_limit: SharedLimit = nullcontext,
    policy: retries.RetryPolicy | None = None,
) -> GenerationOutcome:
    """Ask for every sample of ``requests`` that the writer's ledger does not have, and record the replies.

    A cancelled run sends no more requests, and waits a short time for the open requests, which are paid for. Errors of
    the provider are part of the outcome, not exceptions: ``failures`` lists the samples that were given up. If the run
    cannot continue, the open requests end first, and ``stopped_because`` states the reason.

    ``requests`` is read while requests are sent, not in advance. Each request waits for ``shared_limit``, a context
    manager, and for the limits of ``settings``; a cost limit needs ``price``, and ``spent_usd`` counts against this
    limit. ``notify`` is called with single lines for people: if the provider is not reached, and which answers are
    kept after an interruption.
    Samples that can never be answered are recorded as failed answers if the ledger accepts such answers.

    Raises:
        GenerationError: answers cannot be stored on disk, or the cost is limited and no price is known.
    """
    chosen = policy or retries.RetryPolicy()
    spending = Spending(price, settings.max_cost_usd, spent_usd)
    loop = _RequestLoop(requests, provider, writer, settings, chosen, spending=spending, notify=notify)
    return await loop.run(progress, shared_limit)


class _RequestLoop:
    def __init__(
        self,
        requests: Iterable[Request],
        provider: Provider,
        writer: AnswerWriter,
        settings: RequestsConfig,
        policy: retries.RetryPolicy,
        *,
        spending: Spending,
        notify: OnWait,
    ) -> None:
        self._provider, self._settings, self._policy, self._notify = provider, settings, policy, notify
        self._accepts_unanswerable = writer.accepts_unanswerable
        self._known = frozenset(writer.known)
        self._queue = retries.RequestQueue(requests, self._known)
        self._commit = GroupCommit(writer, self._on_synced)
        self._expectation = retries.Expectation()
        self._spending = spending
        self._pace = retries.Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self._random = Random()  # noqa: S311 -- spreads waits, keeps no secret
        self._throttle = retries.Throttle(settings.concurrency, self._random)
        self._budget = retries.RetryBudget(settings.concurrency)
        self._circuit = retries.Circuit(policy, settings.first_contact_seconds)
        self._progress = GenerationProgress()
        self._recorded: deque[tuple[float, int]] = deque()
        """Pairs (time in seconds, samples recorded until then) of the last minute."""
        self._failures: list[SampleFailure] = []
        self._stopped_because: str | None = None
        self._sent_at: dict[tuple[int, int], float] = {}
        """Time at which each open request was sent, by the id of its job and the attempt."""
        self._broken = False
        """True if a request ended with an exception that no provider should raise."""
        self._told: set[str] = set()
        """Topics of messages that were already sent to the user."""
        self._unanswerable: list[retries.QueuedRequest] = []
        """Unanswerable requests before the first reply, to be sent again after a reply shows that the settings work."""
        self._changed = asyncio.Event()
        self._now = asyncio.get_running_loop().time

    async def run(self, report: Report, shared_limit: SharedLimit) -> GenerationOutcome:
        started = self._now()
        try:
            async with asyncio.TaskGroup() as group:
                try:
                    await self._dispatch(group, report, shared_limit)
                except BaseException:  # cancelled, or the progress callback raised an error
                    await self._interrupted()
                    raise
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None  # the first exception ended the other tasks
        finally:
            await self._commit.close()
        for job in (*self._queue.waiting_retries(), *self._unanswerable):
            self._give_up(job)
        totals = self._snapshot("")
        report(totals)
        if totals.errors["not_found"] and self._stopped_because and (offer := await self._provider.offered_models()):
            self._stopped_because += f". {offer}"
        return GenerationOutcome(totals, tuple(sorted(self._failures)), self._stopped_because, self._now() - started)

    async def _dispatch(self, group: asyncio.TaskGroup, report: Report, shared_limit: SharedLimit) -> None:
        """Send each request as soon as limits, waits and costs allow it, until all requests have ended."""
        reported_at = -inf
        while True:
            self._commit.check()
            now = self._now()
            delay_seconds, reason = self._obstacle(now)
            if now >= reported_at + _SECONDS_BETWEEN_REPORTS:
                reported_at = now
                report(self._snapshot(reason))
            if delay_seconds <= 0.0:
                job = self._queue.take(now)
                job.expected = self._expectation.usual(job.request)
                job.expected_usd = self._spending.expected(self._expectation.longest(job.request))
                self._spending.reserve(job.expected_usd)
                self._pace.sent(now, job.expected)
                self._progress.in_flight += 1
                job.is_probe = self._circuit.sent()
                group.create_task(self._attempt(job, shared_limit))
                await asyncio.sleep(0)  # lets the request start before the next is considered
            elif delay_seconds == inf and not self._progress.in_flight and self._commit.idle:
                return
            else:  # wait until a request ends or a reply is written, up to the delay
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(delay_seconds, _SECONDS_BETWEEN_REPORTS)):
                        await self._changed.wait()

    async def _interrupted(self) -> None:
        """Send nothing more, and wait a short time for the open requests, because the provider charges for them."""
        if self._broken or self._commit.failed:
            return
        self._stop("interrupted")
        waited = self._progress.in_flight
        kept = f"interrupted: {self._progress.replies:,} answers of this run are kept"
        if waited:
            grace = f"{self._policy.grace_seconds:.0f} s at most; Ctrl-C again ends at once"
            self._notify(f"{kept}; waiting for {waited:,} requests under way, which are paid for ({grace})")
        before = self._progress.replies
        ended = asyncio.create_task(self._all_ended())
        try:  # in Python 3.11.2, asyncio.timeout raises no TimeoutError in a task that is being cancelled
            await asyncio.wait({ended}, timeout=self._policy.grace_seconds)
        finally:
            ended.cancel()
        came = self._progress.replies - before
        self._notify(f"{came:,} of {waited:,} replies came and are kept; {_AGAIN}" if waited else f"{kept}; {_AGAIN}")

    async def _all_ended(self) -> None:
        """Wait until no request is under way."""
        while self._progress.in_flight:
            self._changed.clear()
            await self._changed.wait()

    def _obstacle(self, now: float) -> tuple[float, str]:
        """Return the seconds to wait before the next request (inf: until an open request ends), and the reason."""
        if self._stopped_because is not None:
            return inf, "requests under way to end"
        due_seconds = self._queue.delay(now)
        if due_seconds == inf or self._progress.in_flight >= self._throttle.limit:
            return inf, ""
        waits = {
            "the provider, which asked for a pause": self._throttle.delay(now),
            f"the provider, which {self._circuit.complaint}": self._circuit.delay(now),
            "the limits per minute": self._pace.delay(now),
            "failed requests to be due again": due_seconds,
        }
        longest_seconds = max(waits.values())
        if longest_seconds <= 0.0:
            expected = self._expectation.longest(self._queue.first(now).request)
            if not self._spending.has_room(self._spending.expected(expected)):
                if not self._progress.in_flight:  # open requests may turn out cheaper than expected
                    self._stop(f"{self._spending.limit_reached}: raise generation.requests.max_cost_usd; {_GO_ON}")
                return inf, ""
        return longest_seconds, next((reason for reason, seconds in waits.items() if seconds >= 1), "")

    async def _attempt(self, job: retries.QueuedRequest, shared_limit: SharedLimit) -> None:
        sent = (id(job), job.attempts + 1)
        reserved_usd = job.expected_usd  # the next attempt may begin before this attempt has left the shared limit
        try:
            async with shared_limit():
                if self._stopped_because is not None:  # stopped while it waited for the shared limit
                    self._queue.put_back(job, inf)
                    return
                body = self._provider.body(job.request)
                self._budget.sent(retry=job.error is not None and job.error.kind != "rate_limited")
                job.attempts += 1
                job.sent_at, started_at = self._now(), datetime.now(UTC)
                self._sent_at[sent] = job.sent_at
                try:
                    reply = await self._ask(job.request)
                except RequestError as error:
                    failed_reply = self._reply_of_failure(job.request, error)
                    if failed_reply is None:
                        self._failed(job, body, error)
                        return
                    reply = failed_reply
                record = ReplyRecord.of(
                    job.request,
                    reply,
                    body=body,
                    latency_seconds=self._now() - job.sent_at,
                    attempts=job.attempts,
                    cost_usd=self._spending.of(reply.usage),
                    sent_at=started_at,
                )
                self._received(job, record)
        except Exception:
            self._broken = True
            raise
        finally:
            self._sent_at.pop(sent, None)
            self._spending.reserve(-reserved_usd)
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
            raise RequestError("malformed", "the provider's reply contains no answer")
        return reply

    def _reply_of_failure(self, request: Request, error: RequestError) -> Reply | None:
        """Return a reply without text if ``error`` counts as a failed answer (refused or unanswerable); else None."""
        if error.kind == "refused":
            answer = Answer("", "refusal", error=str(error))
        elif error.kind == "unanswerable" and self._accepts_unanswerable and self._anything_came:
            answer = Answer("", "unanswerable", error=str(error))
        else:
            return None
        return Reply(tuple(answer for _ in request.sample_indices), TokenUsage())

    @property
    def _anything_came(self) -> bool:
        return bool(self._progress.replies or self._known)

    def _received(self, job: retries.QueuedRequest, record: ReplyRecord) -> None:
        self._commit.put(record)
        self._spending.spend(record.cost_usd, job.expected_usd)
        self._expectation.learn(record.usage, len(record.answers))
        self._pace.answered(job.expected, record.usage)
        self._throttle.answered()
        self._circuit.answered()
        self._progress.replies += 1
        self._progress.prompt_tokens += record.usage.prompt_tokens or 0
        self._progress.completion_tokens += record.usage.completion_tokens or 0
        if len(record.answers) < len(job.request.sample_indices):
            self._queue.put_rest(job, len(record.answers))
        while self._unanswerable:
            self._queue.put_back(self._unanswerable.pop(), self._now())

    def _failed(self, job: retries.QueuedRequest, body: Mapping[str, Any], error: RequestError) -> None:
        now = self._now()
        note = self._provider.adapt(body, error)
        if note and job.attempts < self._settings.attempts:
            self._tell_once("adapted", note)
            self._circuit.answered()
            self._queue.put_back(job, now)
            return
        job.error = error
        self._progress.errors[error.kind] += 1
        described = f"{error.kind.replace('_', ' ')}: {error}"
        if not error.worth_another_try:
            self._failed_for_good(job, error, described)
            return
        if error.kind in {"rate_limited", "overloaded"}:
            self._throttle.refused(error, sent_at=job.sent_at, now=now)
        hopeless = self._circuit.failed(error, now, probe=job.is_probe)
        self._tell_unreached(described)
        wait_seconds = error.retry_after_seconds or 0.0
        if not hopeless and wait_seconds > retries.LONGEST_RETRY_AFTER_SECONDS:
            hopeless = f"the provider asks to wait {wait_seconds / 60:.0f} minutes"
        hopeless = hopeless or self._budget.used_up
        if error.kind == "rate_limited":  # not an attempt; the circuit ends the run if all are refused
            job.refusals += 1
        if job.attempts - job.refusals >= self._settings.attempts:
            self._give_up(job)
        else:
            self._queue.put_back(job, now + retries.backoff_seconds(self._policy, job.attempts, error, self._random))
        if hopeless:
            self._stop(f"{hopeless}: {described}: {_GO_ON}")

    def _failed_for_good(self, job: retries.QueuedRequest, error: RequestError, described: str) -> None:
        """Handle an error that would occur again if the same request were sent again."""
        self._circuit.answered()  # the provider is reachable
        if error.kind == "unanswerable" and self._accepts_unanswerable:
            self._unanswerable.append(job)
        else:
            self._give_up(job)
        in_vain = len(self._failures) + len(self._unanswerable)
        wrong_for_all = not self._anything_came and in_vain >= retries.FAILURES_IN_A_ROW
        if error.concerns_every_request or wrong_for_all:
            self._stop(f"{described}: {_REMEDIES.get(error.kind, 'check the settings')}; {_GO_ON}")

    def _tell_unreached(self, described: str) -> None:
        """Notify the user, once per kind of fault, if the provider was never reached or gives no answers."""
        circuit, unreached = self._circuit, not self._circuit.contacted
        if unreached or circuit.is_open:
            limit = f"{self._settings.first_contact_seconds:.0f} s" if unreached else "ten minutes"
            line = f"the provider {circuit.complaint}: {described}; it is tried again for {limit}"
            self._tell_once(circuit.complaint, line)

    def _tell_once(self, topic: str, line: str) -> None:
        if topic not in self._told:
            self._told.add(topic)
            self._notify(line)

    def _give_up(self, job: retries.QueuedRequest) -> None:
        if job.error is not None:
            failure = (job.error.kind, str(job.error), job.attempts)
            self._failures += [SampleFailure(job.request.task_id, one, *failure) for one in job.request.sample_indices]

    def _stop(self, reason: str) -> None:
        """Send no more requests; only the first reason is reported."""
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
            longest_seconds=now - min(self._sent_at.values(), default=now),
            limit_seconds=self._settings.timeout_seconds,
            errors=self._progress.errors.copy(),
            cost_usd=self._spending.cost_usd,
            samples_per_second=(recorded - before) / (now - since) if now > since else 0.0,
            waiting_for=waiting_for,
        )
