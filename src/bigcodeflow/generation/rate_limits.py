"""When the next request may go: limits that the user set, and what the provider shows that it can take.

Nothing here sleeps or reads a clock: every function takes the time, in seconds, and returns how long to wait.
"""

from random import Random

from bigcodeflow.generation.model_api import Request, RequestError, TokenUsage

_MINUTE_SECONDS = 60.0
#: A request that a late timer delayed may be caught up within so long; more would be bursts.
_CATCH_UP_SECONDS = 0.05
#: English and code, roughly; what counts is corrected when the reply says it.
_CHARACTERS_PER_TOKEN = 4
#: Tokens that an answer is expected to take where nothing limits it and none has come yet.
_UNLIMITED_ANSWER_TOKENS = 1024
#: Weight of the newest answer in their mean length.
_NEWEST = 0.05


class Expectation:
    """Tokens that a request will take, before it is sent."""

    def __init__(self) -> None:
        self._answer_tokens: float | None = None
        """Mean length of the answers so far."""

    def longest(self, request: Request) -> TokenUsage:
        """The whole prompt, and answers as long as they may get; where nothing limits them, as long as usual."""
        limit = request.sampling.max_tokens
        return self.usual(request) if limit is None else _usage(request, limit)

    def usual(self, request: Request) -> TokenUsage:
        """The whole prompt, and answers as they have been so far; before any came, as long as they may get.

        Pacing by the longest answers would leave most of a limit unused, where answers are much shorter.
        """
        limit = request.sampling.max_tokens
        otherwise = _UNLIMITED_ANSWER_TOKENS if limit is None else limit
        return _usage(request, otherwise if self._answer_tokens is None else self._answer_tokens)

    def learn(self, usage: TokenUsage, answers: int) -> None:
        """Take the length of answers into account that came."""
        if usage.completion_tokens is not None and answers:
            each = usage.completion_tokens / answers
            before = each if self._answer_tokens is None else self._answer_tokens
            self._answer_tokens = before + _NEWEST * (each - before)


def _usage(request: Request, answer_tokens: float) -> TokenUsage:
    prompt_tokens = -(-request.prompt.characters // _CHARACTERS_PER_TOKEN)
    return TokenUsage(prompt_tokens, round(answer_tokens * len(request.sample_indices)))


class Rate:
    """A limit per minute that is spent evenly: a minute's worth never goes in its first second."""

    def __init__(self, per_minute: int) -> None:
        """Set the limit, in units a minute; 0 sets none."""
        self._seconds_per_unit = _MINUTE_SECONDS / per_minute if per_minute else 0.0
        self._free_at = float("-inf")

    def delay(self, now: float) -> float:
        """Seconds until the next request may go."""
        return max(0.0, self._free_at - now)

    def spend(self, now: float, units: float) -> None:
        """Count a request that goes now."""
        self._free_at = max(self._free_at, now - _CATCH_UP_SECONDS) + units * self._seconds_per_unit

    def correct(self, units: float) -> None:
        """Count units that were used beyond what was spent; below zero, give them back."""
        self._free_at += units * self._seconds_per_unit


class Pace:
    """Requests and tokens a minute. What failed stays counted: the provider counted it too."""

    def __init__(self, requests_per_minute: int, tokens_per_minute: int) -> None:
        self._requests, self._tokens = Rate(requests_per_minute), Rate(tokens_per_minute)

    def delay(self, now: float) -> float:
        """Seconds until the next request may go."""
        return max(self._requests.delay(now), self._tokens.delay(now))

    def sent(self, now: float, expected: TokenUsage) -> None:
        """Count a request that goes now, with the tokens that it is expected to use."""
        self._requests.spend(now, 1)
        self._tokens.spend(now, _tokens(expected, expected))

    def answered(self, expected: TokenUsage, usage: TokenUsage) -> None:
        """Replace the expected tokens of a request by those that its reply states."""
        self._tokens.correct(_tokens(usage, expected) - _tokens(expected, expected))


def _tokens(usage: TokenUsage, expected: TokenUsage) -> int:
    prompt = expected.prompt_tokens if usage.prompt_tokens is None else usage.prompt_tokens
    answer = expected.completion_tokens if usage.completion_tokens is None else usage.completion_tokens
    return (prompt or 0) + (answer or 0)


class Throttle:
    """How many requests may be under way, and until when the provider wants none at all.

    Each round (the requests that are under way together) in which the provider says that it is too much takes a part of
    them away; rounds without a complaint bring all back, a sixteenth at a time (additive increase, multiplicative
    decrease).
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
        self._cut_at = self._paused_until = float("-inf")

    @property
    def limit(self) -> int:
        """Requests that may be under way now."""
        return int(self._limit)

    def delay(self, now: float) -> float:
        """Seconds during which the provider wants no request."""
        return max(0.0, self._paused_until - now)

    def answered(self) -> None:
        """Count a request that the provider took."""
        self._overloads = self._rounds = 0
        self._limit = min(self._full, self._limit + self._full / (self._ROUNDS_BACK * self._limit))

    def refused(self, error: RequestError, *, sent_at: float, now: float) -> None:
        """Count a request for which the provider had no room: rate_limited or overloaded."""
        if error.kind == "overloaded":
            self._overloads += 1
            if self._overloads < self._OVERLOADS:
                return
        if error.retry_after_seconds is not None:
            self._pause(now + error.retry_after_seconds)
        if sent_at <= self._cut_at:
            return  # of a round that has been answered for
        self._cut_at = now
        self._limit = max(1.0, self._limit * self._REMAINS)
        self._rounds += 1
        if error.retry_after_seconds is None and self._rounds > 1:
            longest = min(self._LONGEST_PAUSE_SECONDS, self._FIRST_PAUSE_SECONDS * 2.0 ** (self._rounds - 2))
            self._pause(now + self._random.uniform(longest / 2, longest))

    def _pause(self, until: float) -> None:
        self._paused_until = max(self._paused_until, until)
