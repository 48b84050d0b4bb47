"""Progress and outcome of a run that asks a model."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from bigcodeflow.generation.model_api import ErrorKind


@dataclass(slots=True)
class GenerationProgress:
    samples_known: int = 0
    """Samples answered by earlier runs."""
    samples_recorded: int = 0
    """Samples answered by this run and synced to disk, including accepted failed answers to unanswerable requests."""
    samples_failed: int = 0
    """Samples given up in this run."""
    replies: int = 0
    in_flight: int = 0
    longest_seconds: float = 0.0
    """Time since the oldest open request was sent."""
    limit_seconds: float = 0.0
    """Maximum time of a request."""
    errors: Counter[ErrorKind] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """Cost of the replies with a known price; None if no price is known."""
    samples_per_second: float = 0.0
    """Recorded samples per second, over the last minute."""
    waiting_for: str = ""
    """Reason for a longer wait in which no request is sent; empty otherwise."""

    @property
    def samples_done(self) -> int:
        return self.samples_known + self.samples_recorded

    def in_words(self) -> str:
        parts = [f"{self.samples_per_second:.1f}/s"]
        if self.in_flight:
            longest = f"longest {self.longest_seconds:.0f} s (limit {self.limit_seconds:.0f} s)"
            parts.append(f"{self.in_flight:,} open, {longest}")
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
    """Sample without an answer; the next run asks for it again."""

    task_id: str
    sample_index: int
    kind: ErrorKind
    message: str
    attempts: int


class GenerationOutcome(NamedTuple):
    totals: GenerationProgress
    failures: tuple[SampleFailure, ...]
    stopped_because: str | None
    """Reason why the run ended before all requests were sent, and what to do; None if all requests were sent."""
    seconds: float = 0.0
