"""The one layer that sends requests again: which one is next, when it may go, and when to stop asking altogether.

Nothing here sleeps or reads a clock: every function takes the time, in seconds, and returns how long to wait.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf
from random import Random

from bigcodeflow.generation.answer_ledger import AnswerKey
from bigcodeflow.generation.model_api import ErrorKind, Request, RequestError, TokenUsage

#: A request that a late timer delayed may be caught up within so long; more would be bursts.
_CATCH_UP_SECONDS = 0.05
#: English and code, roughly; what counts is corrected when the reply says it.
_CHARACTERS_PER_TOKEN = 4
#: Tokens that an answer is expected to take where nothing limits it and none has come yet.
_UNLIMITED_ANSWER_TOKENS = 1024
#: Weight of the newest answer in their mean length.
_NEWEST = 0.05


#: So many failures without an answer between them, and only a probe is sent from time to time.
FAILURES_IN_A_ROW = 10
#: A provider that asks to wait longer ends the run: a daily quota is not waited for in silence.
LONGEST_RETRY_AFTER_SECONDS = 900.0
#: A provider that has given no answer for so long ends the run.
_GIVE_UP_SECONDS = 600.0
#: So many requests have failed at least before a provider that was never reached is given up.
_LEAST_CONTACTS = 3
#: What a provider does that gives no answers, by what came last.
_COMPLAINTS: Mapping[ErrorKind, str] = {
    "connection": "cannot be reached",
    "deadline": "answers nothing",
    "malformed": "answers what is no API's answer",
    "overloaded": "answers with errors only",
}


class Expectation:
    """Tokens that a request will take, before it is sent: the whole prompt, and answers of a likely length."""

    def __init__(self) -> None:
        self._mean_answer_tokens: float | None = None

    def longest(self, request: Request) -> TokenUsage:
        """With answers as long as they may get; where nothing limits them, as long as usual."""
        return self._usage(request, request.sampling.max_tokens, self._mean_answer_tokens)

    def usual(self, request: Request) -> TokenUsage:
        """With answers as they have been so far; before any came, as long as they may get.

        Pacing by the longest answers would leave most of a limit unused, where answers are much shorter.
        """
        return self._usage(request, self._mean_answer_tokens, request.sampling.max_tokens)

    def learn(self, usage: TokenUsage, answers: int) -> None:
        if usage.completion_tokens is not None and answers:
            each = usage.completion_tokens / answers
            before = each if self._mean_answer_tokens is None else self._mean_answer_tokens
            self._mean_answer_tokens = before + _NEWEST * (each - before)

    @staticmethod
    def _usage(request: Request, *answer_tokens: float | None) -> TokenUsage:
        """The first number that is known counts."""
        each = next((tokens for tokens in answer_tokens if tokens is not None), _UNLIMITED_ANSWER_TOKENS)
        prompt_tokens = -(-request.prompt.characters // _CHARACTERS_PER_TOKEN)
        return TokenUsage(prompt_tokens, round(each * len(request.sample_indices)))


class Rate:
    """A limit per minute that is spent evenly: a minute's worth never goes in its first second."""

    def __init__(self, per_minute: int) -> None:
        self._seconds_per_unit = 60.0 / per_minute if per_minute else 0.0  # 0 sets no limit
        self._free_at = -inf

    def delay(self, now: float) -> float:
        return max(0.0, self._free_at - now)

    def spend(self, now: float, units: float) -> None:
        self._free_at = max(self._free_at, now - _CATCH_UP_SECONDS) + units * self._seconds_per_unit

    def correct(self, units: float) -> None:
        """Count units that were used beyond what was spent; below zero, give them back."""
        self._free_at += units * self._seconds_per_unit


class Pace:
    """Requests and tokens a minute. What failed stays counted: the provider counted it too."""

    def __init__(self, requests_per_minute: int, tokens_per_minute: int) -> None:
        self._requests, self._tokens = Rate(requests_per_minute), Rate(tokens_per_minute)

    def delay(self, now: float) -> float:
        return max(self._requests.delay(now), self._tokens.delay(now))

    def sent(self, now: float, expected: TokenUsage) -> None:
        self._requests.spend(now, 1)
        self._tokens.spend(now, (expected.prompt_tokens or 0) + (expected.completion_tokens or 0))

    def answered(self, expected: TokenUsage, usage: TokenUsage) -> None:
        """Replace the expected tokens of a request by those that its reply states."""
        if usage.prompt_tokens is not None:
            self._tokens.correct(usage.prompt_tokens - (expected.prompt_tokens or 0))
        if usage.completion_tokens is not None:
            self._tokens.correct(usage.completion_tokens - (expected.completion_tokens or 0))


class Throttle:
    """How many requests may be under way, and until when the provider wants none at all.

    Each round (the requests that are under way together) in which the provider refuses some takes a part of them away;
    rounds without a refusal bring all back, a sixteenth at a time (additive increase, multiplicative decrease).
    """

    _REMAINS = 0.7
    _ROUNDS_BACK = 16
    #: A server error may be a single broken machine behind a gateway; so many in a row are a server without room.
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
        """Count a request for which the provider had no room: rate_limited or overloaded."""
        if error.kind == "overloaded":
            self._overloads += 1
            if self._overloads < self._OVERLOADS:
                return
        pause_seconds = error.retry_after_seconds or 0.0
        if sent_at > self._cut_at:  # of a round that has not been answered for
            self._cut_at = now
            self._limit = max(1.0, self._limit * self._REMAINS)
            self._rounds += 1
            if error.retry_after_seconds is None and self._rounds > 1:
                longest = min(self._LONGEST_PAUSE_SECONDS, self._FIRST_PAUSE_SECONDS * 2.0 ** (self._rounds - 2))
                pause_seconds = self._random.uniform(longest / 2, longest)
        self._paused_until = max(self._paused_until, now + pause_seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient a run is; the number of attempts for one answer is a setting of the user's."""

    first_backoff_seconds: float = 1.0
    """Longest wait before the second attempt; doubles with each further one."""
    longest_backoff_seconds: float = 60.0
    first_probe_seconds: float = 1.0
    """Wait before the first probe; doubles with each further one."""
    longest_probe_seconds: float = 60.0
    grace_seconds: float = 10.0
    """How long a run that is interrupted waits for the requests under way, which are paid for."""


def backoff_seconds(policy: RetryPolicy, attempts: int, error: RequestError, random: Random) -> float:
    """Seconds until a request may be sent again after so many attempts, at least 1, of which the last ended so.

    Exponential with full jitter: a random share of a wait that doubles with each attempt, so that requests that failed
    together do not return together. What the provider asked for in Retry-After comes first.
    """
    longest = min(policy.longest_backoff_seconds, policy.first_backoff_seconds * 2.0 ** min(attempts - 1, 64))
    return (error.retry_after_seconds or 0.0) + random.uniform(0.0, longest)


class RetryBudget:
    """Keeps retries a minority of what is sent, so that a provider that half works costs no multiple.

    Rate limits are no part of it: what they turned away cost nothing, and the throttle answers them.
    """

    _ALWAYS_ALLOWED = 100

    def __init__(self, slots: int) -> None:
        # A server that restarts fails all slots at once, several times: that alone must not end a run.
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
    """Stops asking a provider that gives no answers, and tries it with one request from time to time.

    Rate limits do not open it: a provider that turns requests away is there. They do count towards giving up. A
    provider that was never reached, at an address where nothing listens or where a web page lies, is given up early.
    """

    def __init__(self, policy: RetryPolicy, first_contact_seconds: float = 30.0) -> None:
        self._policy, self._first_contact_seconds = policy, first_contact_seconds
        self.contacted = False
        """Whether an API ever answered, with a reply or an error of its own."""
        self.complaint = ""
        """What the provider does instead of answering, where a request has failed."""
        self._failures = 0
        self._failing_since: float | None = None
        self._probe_at = 0.0
        self._close()

    def _close(self) -> None:
        self._breakdowns = self._probes = 0
        self.is_open, self._probing = False, False  # open: only probes are sent

    def delay(self, now: float) -> float:
        """Seconds until the next request may go; infinite while a probe is under way."""
        if not self.is_open:
            return 0.0
        return inf if self._probing else max(0.0, self._probe_at - now)

    def sent(self) -> bool:
        """Count a request that goes now, and return whether it is a probe."""
        self._probing = self.is_open
        return self._probing

    def answered(self) -> None:
        """Whether to a probe or to any other request, a reply shows that the provider is there."""
        self._failures, self._failing_since = 0, None
        self.contacted = True
        self._close()

    def failed(self, error: RequestError, now: float, *, probe: bool) -> str | None:
        """Count a request that may get an answer later, and return what is wrong when it is time to give up."""
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
    """A request and what has become of it so far."""

    request: Request
    attempts: int = 0
    refusals: int = 0
    """Attempts that a rate limit turned away, which are none of those that are counted against it."""
    error: RequestError | None = None
    expected: TokenUsage = field(default_factory=TokenUsage)
    """Of the attempt under way, as are the following."""
    expected_usd: float = 0.0
    is_probe: bool = False
    sent_at: float = 0.0


def narrowed(request: Request, indices: Sequence[int]) -> Iterator[QueuedRequest]:
    """The request for some of its samples only, in as many parts as there are gaps between them.

    A seed belongs to a request's first sample, and each further one takes the next number. The parts therefore move it
    along: with the old one the rest would be the samples that are there already, word for word.
    """
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    for run in runs:
        seed = None if request.seed is None else request.seed + run[0] - request.sample_indices[0]
        yield QueuedRequest(replace(request, sample_indices=tuple(run), seed=seed))


class RequestQueue:
    """Jobs in the order in which they may go: retries that are due, then what the requests' source gives.

    The source is read one request at a time, when there is room. No sample is handed out twice, and no known one.
    """

    def __init__(self, requests: Iterable[Request], known: AbstractSet[AnswerKey]) -> None:
        self.samples_known = 0
        """Samples of the requests read so far that were there before."""
        self._source, self._known = iter(requests), known
        self._claimed: set[AnswerKey] = set()
        self._new: deque[QueuedRequest] = deque()
        self._retries: list[tuple[float, int, QueuedRequest]] = []
        self._order = count()

    def delay(self, now: float) -> float:
        """Seconds until there is a job; infinite where none waits."""
        due_seconds = max(0.0, self._retries[0][0] - now) if self._retries else inf
        while due_seconds and not self._new:
            request = next(self._source, None)
            if request is None:
                return due_seconds
            keys = [AnswerKey(request.task_id, request.prompt_sha, at) for at in dict.fromkeys(request.sample_indices)]
            self.samples_known += sum(key in self._known for key in keys)
            missing = [key for key in keys if key not in self._known and key not in self._claimed]
            self._claimed.update(missing)
            self._new.extend(narrowed(request, [key.sample_index for key in missing]))
        return 0.0

    def first(self, now: float) -> QueuedRequest:
        """The job that is to go next; only where `delay` is 0."""
        return self._retries[0][2] if self._retries and self._retries[0][0] <= now else self._new[0]

    def take(self, now: float) -> QueuedRequest:
        due = self._retries and self._retries[0][0] <= now
        return heapq.heappop(self._retries)[2] if due else self._new.popleft()

    def put_back(self, job: QueuedRequest, due_at: float) -> None:
        heapq.heappush(self._retries, (due_at, next(self._order), job))

    def put_rest(self, job: QueuedRequest, answered: int) -> None:
        """Queue what a reply left out, as requests of their own that go next."""
        self._new.extendleft(narrowed(job.request, job.request.sample_indices[answered:]))

    def waiting_retries(self) -> Iterator[QueuedRequest]:
        return (job for _, _, job in self._retries)
