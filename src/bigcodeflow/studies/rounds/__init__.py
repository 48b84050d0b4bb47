"""Repair rounds of a run, reported apart from its score: samples asked again, samples repaired, and costs."""

from bigcodeflow.studies.rounds.results import publish_rounds

__all__ = ["publish_rounds"]
