"""How far a run has come, and what came of it."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bigcodeflow.generation.model_api import ErrorKind, TokenUsage

_RATE_WINDOW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class GenerationProgress:
    """A run at one moment. Samples count as recorded once they are on the disk."""

    samples_total: int | None
    """Samples wanted in all; None where the caller did not say."""
    samples_known: int
    """Answered by earlier runs."""
    samples_recorded: int
    """Answered by this run."""
    samples_failed: int
    """Given up for this run."""
    requests_sent: int
    """Requests of this run, retries included."""
    retries: int
    in_flight: int
    """Requests under way."""
    concurrency: int
    """Requests that may be under way now; fewer than the setting while the provider says that it is too much."""
    errors: Mapping[ErrorKind, int]
    """Requests that ended without an answer, by kind."""
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """Of the replies whose price is known; None where none is."""
    unpriced_replies: int
    """Replies whose price is not known, and which cost_usd leaves out."""
    samples_per_second: float
    """Over the last minute."""
    waiting_for: str
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


class SampleFailure(NamedTuple):
    """A sample without an answer; the next run asks for it again."""

    task_id: str
    sample_index: int
    kind: ErrorKind
    message: str
    """What the last request ended with."""
    attempts: int


@dataclass(frozen=True, slots=True)
class GenerationOutcome:
    """What came of a run."""

    totals: GenerationProgress
    failures: tuple[SampleFailure, ...]
    """In the order of task and sample."""
    stopped_because: str | None
    """Why the run ended before everything had been asked, in one line with what to do; None where it did not."""
    seconds: float


@dataclass(slots=True)
class Tally:
    """Counts of a run, as they grow."""

    requests_sent: int = 0
    retries: int = 0
    replies: int = 0
    in_flight: int = 0
    samples_recorded: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unpriced_replies: int = 0
    errors: Counter[ErrorKind] = field(default_factory=Counter)
    failures: list[SampleFailure] = field(default_factory=list)
    _marks: deque[tuple[float, int]] = field(default_factory=deque)

    def sent(self, *, retry: bool) -> None:
        """Count a request."""
        self.requests_sent += 1
        self.retries += retry

    def answered(self, usage: TokenUsage, cost_usd: float | None) -> None:
        """Count a reply."""
        self.replies += 1
        self.prompt_tokens += usage.prompt_tokens or 0
        self.completion_tokens += usage.completion_tokens or 0
        self.unpriced_replies += cost_usd is None

    def progress(
        self,
        now: float,
        *,
        samples_total: int | None,
        samples_known: int,
        concurrency: int,
        cost_usd: float | None,
        waiting_for: str,
    ) -> GenerationProgress:
        """The counts at this moment, with what others count."""
        return GenerationProgress(
            samples_total=samples_total,
            samples_known=samples_known,
            samples_recorded=self.samples_recorded,
            samples_failed=len(self.failures),
            requests_sent=self.requests_sent,
            retries=self.retries,
            in_flight=self.in_flight,
            concurrency=concurrency,
            errors=dict(self.errors),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost_usd=cost_usd,
            unpriced_replies=self.unpriced_replies,
            samples_per_second=self._samples_per_second(now),
            waiting_for=waiting_for,
        )

    def _samples_per_second(self, now: float) -> float:
        """Samples recorded a second since the mark of a minute ago; sets a mark."""
        self._marks.append((now, self.samples_recorded))
        while self._marks[0][0] < now - _RATE_WINDOW_SECONDS:
            self._marks.popleft()
        since, recorded = self._marks[0]
        return (self.samples_recorded - recorded) / (now - since) if now > since else 0.0
