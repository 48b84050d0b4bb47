"""Recommend recorded models for a project: rank them on the tasks that use the project's libraries.

Nothing is executed or stored; only the catalog of a store is read. docs/recommend.md explains how the numbers are
computed.
"""

from bigcodeflow.studies.recommend.evidence import Selection, evidence_of_store, read_evidence
from bigcodeflow.studies.recommend.libraries import Stack, names_in, stack_of
from bigcodeflow.studies.recommend.ranking import Recommendation, Recommender

__all__ = [
    "Recommendation",
    "Recommender",
    "Selection",
    "Stack",
    "evidence_of_store",
    "names_in",
    "read_evidence",
    "stack_of",
]
