"""Studies: analyses beyond a run's score, made from derived tasks, other environments, repair rounds and mutants.

Each study is a subclass of `Study` that an entry point of the group ``bigcodeflow.studies`` names; its result is one
table in the store. docs/studies.md describes how to write one.
"""

from bigcodeflow.studies.records import StudyRecord, current_studies, publish_study, recorded_studies, sections_of
from bigcodeflow.studies.registry import Study, installed_studies

__all__ = [
    "Study",
    "StudyRecord",
    "current_studies",
    "installed_studies",
    "publish_study",
    "recorded_studies",
    "sections_of",
]
