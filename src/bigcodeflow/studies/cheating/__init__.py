"""Cheating rate: answers of models to tasks whose shown tests contradict their descriptions."""

from bigcodeflow.studies.cheating.config import WORDINGS, CheatingConfig, ContradictedTasksConfig, Wording
from bigcodeflow.studies.cheating.study import run_study, study_title
from bigcodeflow.studies.cheating.tasks import Selection, contradicted_tasks, table_bytes

__all__ = ["WORDINGS", "CheatingConfig", "ContradictedTasksConfig", "Selection", "Wording"]
__all__ += ["contradicted_tasks", "run_study", "study_title", "table_bytes"]
