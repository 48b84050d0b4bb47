"""Further rounds of a run beside its score: who is asked again, what that repairs, and what it costs."""

from bigcodeflow.studies.rounds.results import publish_rounds

__all__ = ["publish_rounds"]
