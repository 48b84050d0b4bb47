"""Whether a recorded run's model was asked the prompts of the split that the run is recorded with.

Versions whose artifact keys left the split out could judge the answers of one split as those of the other. The samples
table keeps the template of every request, and a template is of one split.
"""

from collections.abc import Iterable
from typing import get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from bigcodeflow.config import PromptConfig, Split
from bigcodeflow.config.templates import FORMS, template_sha256
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results.runs import RecordedRun


def asked_splits(run: RecordedRun, templates: Iterable[str]) -> tuple[str, ...]:
    """The splits whose prompts a run's model was asked, sorted; empty where that is not known.

    Args:
        run: the run, whose configuration holds the texts around the task.
        templates: distinct values of template_sha in the run's samples.
    """
    try:
        prompt = PromptConfig.model_validate(run.config.get("generation", {}).get("prompt", {}))
    except ValidationError:  # of another version, whose templates cannot be made again
        return ()
    known = {template_sha256(split, form, prompt): split for split in get_args(Split) for form in FORMS}
    return tuple(sorted({known[template] for template in templates if template in known}))


def is_mismatched(run: RecordedRun, templates: Iterable[str]) -> bool | None:
    """Whether some answers of the run are to prompts of another split; None where no request tells."""
    asked = asked_splits(run, templates)
    return bool(set(asked) - {run.split}) if asked else None


def split_mismatch(run: RecordedRun) -> str:
    """What is wrong with the split of a run, as half a sentence; empty where nothing is, or no request tells."""
    asked = asked_splits(run, _templates(run))
    if not set(asked) - {run.split}:
        return ""
    return f"it is recorded as {run.split}, but its model was asked the {' and '.join(asked)} prompts"


def _templates(run: RecordedRun) -> list[str]:
    """Distinct templates of the run's requests; empty where samples are not a model's, or the table is gone."""
    try:
        column = pq.read_table(run.path("generation"), columns=["template_sha"])["template_sha"]
    except (OSError, KeyError, pa.ArrowException, ArtifactError):
        return []
    return [template for template in pc.unique(column).to_pylist() if template]
