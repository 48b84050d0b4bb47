"""The one layer that asks again: when, how often, and when to stop asking altogether.

As in `rate_limits`, every function takes the time, in seconds, and nothing sleeps.
"""

from collections import deque
from dataclasses import dataclass
from random import Random

from bigcodeflow.generation.model_api import RequestError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient a run is; the number of attempts for one answer is a setting of the user's."""

    first_backoff_seconds: float = 1.0
    """Longest wait before the second attempt; doubles with each further one."""
    longest_backoff_seconds: float = 60.0
    longest_retry_after_seconds: float = 900.0
    """A provider that asks to wait longer ends the run: a daily quota is not waited for in silence."""
    window: int = 1000
    """Requests that the budget for retries looks back on."""
    retries_allowed: int = 100
    """So many retries in the window are always allowed."""
    share_allowed: float = 0.5
    """So large a share of the window may be retries."""
    failures_in_a_row: int = 10
    """So many failures without an answer between them, and only a probe is sent from time to time."""
    first_probe_seconds: float = 1.0
    """Wait before the first probe; doubles with each further one."""
    longest_probe_seconds: float = 60.0
    give_up_seconds: float = 600.0
    """A provider that has answered nothing for so long ends the run."""


def backoff_seconds(policy: RetryPolicy, attempts: int, error: RequestError, random: Random) -> float:
    """Seconds until a request may be sent again.

    Exponential with full jitter: a random share of a wait that doubles with each attempt, so that requests that failed
    together do not return together. What the provider asked for in Retry-After comes first.

    Args:
        policy: the bounds.
        attempts: requests made so far, at least 1.
        error: what the last one ended with.
        random: source of the random share.
    """
    doublings = min(attempts - 1, 64)
    longest = min(policy.longest_backoff_seconds, policy.first_backoff_seconds * 2.0**doublings)
    return (error.retry_after_seconds or 0.0) + random.uniform(0.0, longest)


class RetryBudget:
    """Keeps retries a minority of what is sent, so that a provider that half works costs no multiple.

    Rate limits are no part of it: what they turned away cost nothing, and the throttle answers them.
    """

    def __init__(self, policy: RetryPolicy, slots: int) -> None:
        # A server that restarts fails all slots at once, several times: that alone must not end a run.
        self._sent: deque[bool] = deque(maxlen=max(policy.window, 8 * slots))
        self._policy, self._retries = policy, 0

    def sent(self, *, retry: bool) -> None:
        """Count a request."""
        if len(self._sent) == self._sent.maxlen:
            self._retries -= self._sent[0]
        self._sent.append(retry)
        self._retries += retry

    @property
    def used_up(self) -> str | None:
        """What is wrong when there were too many retries."""
        allowed = max(self._policy.retries_allowed, self._policy.share_allowed * len(self._sent))
        if self._retries <= allowed:
            return None
        return f"{self._retries:,} of the last {len(self._sent):,} requests were retries"


class Circuit:
    """Stops asking a provider that answers nothing, and tries it with one request from time to time.

    Rate limits do not open it: a provider that turns requests away is there. They do count towards giving up.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures = self._breakdowns = self._probes = 0
        self._failing_since: float | None = None
        self.is_open, self._probing = False, False  # open: only probes are sent
        self._probe_at = 0.0

    def delay(self, now: float) -> float:
        """Seconds until the next request may go; infinite while a probe is under way."""
        if not self.is_open:
            return 0.0
        return float("inf") if self._probing else max(0.0, self._probe_at - now)

    def sent(self) -> bool:
        """Count a request that goes now; says whether it is a probe."""
        self._probing = self.is_open
        return self._probing

    def answered(self) -> None:
        """Count a reply, of a probe or of any other request: the provider is there."""
        self._failures = 0
        self._failing_since = None
        self._close()

    def failed(self, error: RequestError, now: float, *, probe: bool) -> str | None:
        """Count a request that got no answer but may get one later; says what is wrong when it is time to give up."""
        self._failures += 1
        if self._failing_since is None:
            self._failing_since = now
        if error.kind == "rate_limited":
            self._close()
        else:
            self._breakdowns += 1
            if probe or (not self.is_open and self._breakdowns >= self._policy.failures_in_a_row):
                self._wait_for_probe(now)
        silent_seconds = now - self._failing_since
        if silent_seconds < self._policy.give_up_seconds or self._failures < self._policy.failures_in_a_row:
            return None
        return f"the provider has answered nothing for {silent_seconds / 60:.0f} minutes"

    def _close(self) -> None:
        self._breakdowns = self._probes = 0
        self.is_open, self._probing = False, False

    def _wait_for_probe(self, now: float) -> None:
        self.is_open, self._probing = True, False
        longest = self._policy.longest_probe_seconds
        self._probe_at = now + min(longest, self._policy.first_probe_seconds * 2.0 ** min(self._probes, 64))
        self._probes += 1
