"""What is reported of a run that asks a model: its progress, and what came of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from bigcodeflow.generation.model_api import ErrorKind


@dataclass(slots=True)
class GenerationProgress:
    samples_known: int = 0
    """Answered by earlier runs."""
    samples_recorded: int = 0
    """Answered by this run, and on the disk; those that can never be answered included where they are accepted."""
    samples_failed: int = 0
    """Given up for this run."""
    replies: int = 0
    in_flight: int = 0
    longest_seconds: float = 0.0
    """How long the request has been under way that was sent first of those that still are."""
    limit_seconds: float = 0.0
    """How long a request may take."""
    concurrency: int = 0
    """Requests that may be under way now; fewer than the setting while the provider says that it is too much."""
    errors: Counter[ErrorKind] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """Of the replies whose price is known; None where none is."""
    samples_per_second: float = 0.0
    """Over the last minute."""
    waiting_for: str = ""
    """Why no request is sent, where it takes longer; empty otherwise."""

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
    """A sample without an answer; the next run asks for it again."""

    task_id: str
    sample_index: int
    kind: ErrorKind
    message: str
    attempts: int


class GenerationOutcome(NamedTuple):
    totals: GenerationProgress
    failures: tuple[SampleFailure, ...]
    stopped_because: str | None
    """Why the run ended before everything had been asked, and what to do; None where it did not."""
    seconds: float
