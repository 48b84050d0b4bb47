"""Studies: analyses beyond a run's score, made from derived tasks, other environments, repair rounds and mutants.

Each study is a package here. Its result is one table in the store, whose columns `core.schemas.STUDIES` describes.
"""

from bigcodeflow.studies.records import StudyRecord, current_studies, publish_study, recorded_studies, sections_of
from bigcodeflow.studies.registry import STUDIES, Study

__all__ = ["STUDIES", "Study", "StudyRecord", "current_studies", "publish_study", "recorded_studies", "sections_of"]
