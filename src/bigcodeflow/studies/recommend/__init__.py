"""Which recorded model suits a project: models ranked on the tasks that use the project's libraries.

It executes nothing and keeps nothing: the catalog of a store is all that it reads. docs/recommend.md says how the
numbers are made.
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
