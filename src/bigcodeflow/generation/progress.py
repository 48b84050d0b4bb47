"""How far a run has come, and what came of it."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import NamedTuple

from bigcodeflow.generation.model_api import ErrorKind

_RATE_WINDOW_SECONDS = 60.0


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


class RecentRate:
    """Counts a second over the last minute."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def at(self, now: float, count: int) -> float:
        """The rate since the oldest count of the last minute; remembers this one."""
        self._marks.append((now, count))
        while self._marks[0][0] < now - _RATE_WINDOW_SECONDS:
            self._marks.popleft()
        since, before = self._marks[0]
        return (count - before) / (now - since) if now > since else 0.0
