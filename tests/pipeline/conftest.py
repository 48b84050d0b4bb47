"""Local workers for runs in this process."""

from tests.forked_workers import forked_workers

__all__ = ["forked_workers"]
