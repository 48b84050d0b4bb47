"""The only layer that decides on retries: which request is next, when it may be sent, and when to give up.

No function of this module sleeps or reads a clock: functions get the time and return the wait, both in seconds.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from math import inf
from random import Random

from bigcodeflow.generation.model_api import AnswerKey, ErrorKind, Request, RequestError, TokenUsage

#: Maximum time lost by late timers that later requests may make up for; more would cause bursts.
_CATCH_UP_SECONDS = 0.05
#: Rough value for English and code; the estimate is corrected when the reply states the tokens.
_CHARACTERS_PER_TOKEN = 4
#: Expected tokens of an answer if nothing limits it and no answer has arrived yet.
_UNLIMITED_ANSWER_TOKENS = 1024
#: Weight of the newest answer in the mean length of answers.
_NEWEST = 0.05


#: After this number of failures without an answer between them, only probes are sent from time to time.
FAILURES_IN_A_ROW = 10
#: A provider that asks for a longer wait ends the run, which does not wait silently for a daily quota.
LONGEST_RETRY_AFTER_SECONDS = 900.0
#: A provider that has given no answer for this time ends the run.
_GIVE_UP_SECONDS = 600.0
#: Minimum number of failed requests before a provider that was never reached is given up.
_LEAST_CONTACTS = 3
#: Behavior of a provider that gives no answers, by the kind of the last error.
_COMPLAINTS: Mapping[ErrorKind, str] = {
    "connection": "cannot be reached",
    "deadline": "answers nothing",
    "malformed": "gives unusable answers only",
    "overloaded": "answers with errors only",
}


class Expectation:
    """Expected tokens of a request before it is sent: the whole prompt, and answers of a likely length."""

    def __init__(self) -> None:
        self._mean_answer_tokens: float | None = None

    def longest(self, request: Request) -> TokenUsage:
        """Return a request's tokens if each answer has max_tokens or, without this setting, the mean length so far."""
        return self._usage(request, request.sampling.max_tokens, self._mean_answer_tokens)

    def usual(self, request: Request) -> TokenUsage:
        """Return a request's tokens if each answer has the mean length so far or, before the first answer, max_tokens.

        Pacing by the maximum length would leave most of a limit unused if answers are much shorter.
        """
        return self._usage(request, self._mean_answer_tokens, request.sampling.max_tokens)

    def learn(self, usage: TokenUsage, answers: int) -> None:
        if usage.completion_tokens is not None and answers:
            each = usage.completion_tokens / answers
            before = each if self._mean_answer_tokens is None else self._mean_answer_tokens
            self._mean_answer_tokens = before + _NEWEST * (each - before)

    @staticmethod
    def _usage(request: Request, *answer_tokens: float | None) -> TokenUsage:
        """Return a request's tokens; the first of ``answer_tokens`` that is not None is the length of each answer."""
        each = next((tokens for tokens in answer_tokens if tokens is not None), _UNLIMITED_ANSWER_TOKENS)
        prompt_tokens = -(-request.prompt.characters // _CHARACTERS_PER_TOKEN)
        return TokenUsage(prompt_tokens, round(each * len(request.sample_indices)))


class Rate:
    """Limit per minute, spread evenly, so that the first second of a minute cannot use the whole amount."""

    def __init__(self, per_minute: int) -> None:
        self._seconds_per_unit = 60.0 / per_minute if per_minute else 0.0  # 0 sets no limit
        self._free_at = -inf

    def delay(self, now: float) -> float:
        return max(0.0, self._free_at - now)

    def spend(self, now: float, units: float) -> None:
        self._free_at = max(self._free_at, now - _CATCH_UP_SECONDS) + units * self._seconds_per_unit

    def correct(self, units: float) -> None:
        """Count units that were used in addition to the units of `spend`; a negative number returns unused units."""
        self._free_at += units * self._seconds_per_unit


class Pace:
    """Limits of requests and tokens per minute. Failed requests stay counted, because the provider counts them too."""

    def __init__(self, requests_per_minute: int, tokens_per_minute: int) -> None:
        self._requests, self._tokens = Rate(requests_per_minute), Rate(tokens_per_minute)

    def delay(self, now: float) -> float:
        return max(self._requests.delay(now), self._tokens.delay(now))

    def sent(self, now: float, expected: TokenUsage) -> None:
        self._requests.spend(now, 1)
        self._tokens.spend(now, (expected.prompt_tokens or 0) + (expected.completion_tokens or 0))

    def answered(self, expected: TokenUsage, usage: TokenUsage) -> None:
        """Replace the expected tokens of a request with the numbers that its reply states."""
        if usage.prompt_tokens is not None:
            self._tokens.correct(usage.prompt_tokens - (expected.prompt_tokens or 0))
        if usage.completion_tokens is not None:
            self._tokens.correct(usage.completion_tokens - (expected.completion_tokens or 0))


class Throttle:
    """Limit of open requests, and the time until which the provider wants no requests at all.

    A round is the requests that are open at the same time. A round with a refusal multiplies the limit by `_REMAINS`; a
    round without a refusal adds a sixteenth of the full limit (additive increase, multiplicative decrease).
    """

    _REMAINS = 0.7
    _ROUNDS_BACK = 16
    #: A server error may be a single broken machine behind a gateway; this many in a row mean an overloaded server.
    _OVERLOADS = 5
    _FIRST_PAUSE_SECONDS = 1.0
    _LONGEST_PAUSE_SECONDS = 60.0

    def __init__(self, full: int, random: Random) -> None:
        self._full, self._random = full, random
        self._limit = float(full)
        self._overloads = self._rounds = 0
        self._cut_at = self._paused_until = -inf

    @property
    def limit(self) -> int:
        return int(self._limit)

    def delay(self, now: float) -> float:
        return max(0.0, self._paused_until - now)

    def answered(self) -> None:
        self._overloads = self._rounds = 0
        self._limit = min(self._full, self._limit + min(1.0, self._full / (self._ROUNDS_BACK * self._limit)))

    def refused(self, error: RequestError, *, sent_at: float, now: float) -> None:
        """Count a request that the provider refused for lack of capacity: rate_limited or overloaded."""
        if error.kind == "overloaded":
            self._overloads += 1
            if self._overloads < self._OVERLOADS:
                return
        pause_seconds = error.retry_after_seconds or 0.0
        if sent_at > self._cut_at:  # of a round that has not lowered the limit yet
            self._cut_at = now
            self._limit = max(1.0, self._limit * self._REMAINS)
            self._rounds += 1
            if error.retry_after_seconds is None and self._rounds > 1:
                longest = min(self._LONGEST_PAUSE_SECONDS, self._FIRST_PAUSE_SECONDS * 2.0 ** (self._rounds - 2))
                pause_seconds = self._random.uniform(longest / 2, longest)
        self._paused_until = max(self._paused_until, now + pause_seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waiting times of a run; the number of attempts per answer is a user setting."""

    first_backoff_seconds: float = 1.0
    """Maximum wait before the second attempt; doubles with each further attempt."""
    longest_backoff_seconds: float = 60.0
    first_probe_seconds: float = 1.0
    """Wait before the first probe; doubles with each further probe."""
    longest_probe_seconds: float = 60.0
    grace_seconds: float = 10.0
    """Maximum time that an interrupted run waits for the open requests, which are paid for."""


def backoff_seconds(policy: RetryPolicy, attempts: int, error: RequestError, random: Random) -> float:
    """Return the seconds until a request may be sent again, after ``attempts`` attempts that ended with ``error``.

    Exponential with full jitter: a random part of a wait that doubles with each attempt, so that requests that failed
    together are not sent again together. This wait is added to the time of the provider's Retry-After.
    """
    longest = min(policy.longest_backoff_seconds, policy.first_backoff_seconds * 2.0 ** min(attempts - 1, 64))
    return (error.retry_after_seconds or 0.0) + random.uniform(0.0, longest)


class RetryBudget:
    """Limit that keeps retries a minority of the sent requests: an unreliable provider cannot multiply the cost.

    Retries after a rate limit do not count: the refused requests cost nothing, and the throttle handles them.
    """

    _ALWAYS_ALLOWED = 100

    def __init__(self, slots: int) -> None:
        # A restart of a server fails all slots at once, several times: that alone must not end a run.
        self._sent: deque[bool] = deque(maxlen=max(1000, 8 * slots))

    def sent(self, *, retry: bool) -> None:
        self._sent.append(retry)

    @property
    def used_up(self) -> str | None:
        retries = self._sent.count(True)
        if retries <= max(self._ALWAYS_ALLOWED, len(self._sent) / 2):
            return None
        return f"{retries:,} of the last {len(self._sent):,} requests were retries"


class Circuit:
    """Circuit breaker for a provider that gives no answers: then only a probe is sent from time to time.

    Rate limits do not open the circuit, because a provider that refuses requests is reachable; but rate limits count
    towards giving up. A provider that was never reached (no server, or only a web page) is given up early.
    """

    def __init__(self, policy: RetryPolicy, first_contact_seconds: float = 30.0) -> None:
        self._policy, self._first_contact_seconds = policy, first_contact_seconds
        self.contacted = False
        """True if an API ever answered, with a reply or an API error."""
        self.complaint = ""
        """Description of the provider's fault, such as 'cannot be reached'; empty before the first failure."""
        self._failures = 0
        self._failing_since: float | None = None
        self._probe_at = 0.0
        self._close()

    def _close(self) -> None:
        self._breakdowns = self._probes = 0
        self.is_open, self._probing = False, False  # open: only probes are sent

    def delay(self, now: float) -> float:
        """Return the seconds until the next request may be sent; inf while a probe has no answer yet."""
        if not self.is_open:
            return 0.0
        return inf if self._probing else max(0.0, self._probe_at - now)

    def sent(self) -> bool:
        """Count a request that is sent now, and return True if it is a probe."""
        self._probing = self.is_open
        return self._probing

    def answered(self) -> None:
        """Record a reply to a probe or any other request: the provider is reachable again."""
        self._failures, self._failing_since = 0, None
        self.contacted = True
        self._close()

    def failed(self, error: RequestError, now: float, *, probe: bool) -> str | None:
        """Count a failed request that may succeed later; return a reason if the run must give up, else None."""
        policy = self._policy
        self._failures += 1
        self.contacted = self.contacted or error.reached
        self.complaint = _COMPLAINTS.get(error.kind, self.complaint)
        if self._failing_since is None:
            self._failing_since = now
        if error.kind == "rate_limited":
            self._close()
        else:
            self._breakdowns += 1
            if probe or (not self.is_open and self._breakdowns >= FAILURES_IN_A_ROW):
                self.is_open, self._probing = True, False
                pause_seconds = policy.first_probe_seconds * 2.0 ** min(self._probes, 64)
                self._probe_at = now + min(policy.longest_probe_seconds, pause_seconds)
                self._probes += 1
        silent_seconds = now - self._failing_since
        if not self.contacted and silent_seconds >= self._first_contact_seconds and self._failures >= _LEAST_CONTACTS:
            return f"the provider was not reached once in {silent_seconds:.0f} s"
        if silent_seconds < _GIVE_UP_SECONDS or self._failures < FAILURES_IN_A_ROW:
            return None
        return f"the provider has given no answer for {silent_seconds / 60:.0f} minutes"


@dataclass(slots=True)
class QueuedRequest:
    """Request that waits or is open, and its state so far."""

    request: Request
    attempts: int = 0
    refusals: int = 0
    """Attempts that a rate limit refused, which do not count against the maximum number of attempts."""
    error: RequestError | None = None
    expected: TokenUsage = field(default_factory=TokenUsage)
    """Expected tokens of the current attempt; the fields below also describe the current attempt."""
    expected_usd: float = 0.0
    is_probe: bool = False
    sent_at: float = 0.0


def narrowed(request: Request, indices: Sequence[int]) -> Iterator[QueuedRequest]:
    """Yield requests for the samples ``indices`` of ``request``, one request for each series of consecutive indices.

    The seed belongs to the first sample of a request, and each further sample uses the next number. So each
    part shifts the seed: with the seed of the whole request, a part would repeat existing samples, word for word.
    """
    for _, numbered in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):  # constant while consecutive
        run = tuple(index for _, index in numbered)
        seed = None if request.seed is None else request.seed + run[0] - request.sample_indices[0]
        yield QueuedRequest(replace(request, sample_indices=run, seed=seed))


class RequestQueue:
    """Jobs (`QueuedRequest`) in the order in which they may be sent: retries that are due, then new requests.

    ``requests`` is read one request at a time, when a job is needed. Answered or already requested samples are skipped.
    """

    def __init__(self, requests: Iterable[Request], known: AbstractSet[AnswerKey]) -> None:
        self.samples_known = 0
        """Number of samples, in the requests read so far, that had an answer before."""
        self._source, self._known = iter(requests), known
        self._claimed: set[AnswerKey] = set()
        self._new: deque[QueuedRequest] = deque()
        self._retries: list[tuple[float, int, QueuedRequest]] = []
        self._order = count()

    def delay(self, now: float) -> float:
        """Return the seconds until the next job is due; inf if no job waits."""
        due_seconds = max(0.0, self._retries[0][0] - now) if self._retries else inf
        while due_seconds and not self._new:
            request = next(self._source, None)
            if request is None:
                return due_seconds
            keys = request.keys
            self.samples_known += sum(key in self._known for key in keys)
            missing = [key for key in keys if key not in self._known and key not in self._claimed]
            self._claimed.update(missing)
            self._new.extend(narrowed(request, [key.sample_index for key in missing]))
        return 0.0

    def first(self, now: float) -> QueuedRequest:
        """Return the job to send next, which stays in the queue; allowed only if `delay` is 0."""
        return self._retries[0][2] if self._retries and self._retries[0][0] <= now else self._new[0]

    def take(self, now: float) -> QueuedRequest:
        due = self._retries and self._retries[0][0] <= now
        return heapq.heappop(self._retries)[2] if due else self._new.popleft()

    def put_back(self, job: QueuedRequest, due_at: float) -> None:
        heapq.heappush(self._retries, (due_at, next(self._order), job))

    def put_rest(self, job: QueuedRequest, answered: int) -> None:
        """Queue all but the first ``answered`` samples of a job as new requests, which are sent next."""
        self._new.extendleft(narrowed(job.request, job.request.sample_indices[answered:]))

    def waiting_retries(self) -> Iterator[QueuedRequest]:
        return (job for _, _, job in self._retries)
