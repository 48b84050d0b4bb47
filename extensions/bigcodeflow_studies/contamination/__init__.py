"""Contamination: tasks whose prompts, solutions or tests are in a corpus, such as a model's training data."""

from pydantic import Field

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.settings import SettingOption, SettingsModel
from bigcodeflow.studies.registry import Study
from bigcodeflow_studies.contamination.schema import CONTAMINATION


class ContaminationConfig(SettingsModel):
    """Settings of the study: the corpus, the tasks to search for, and the method."""

    corpus: str = "starter"
    """A folder or file (.txt, .md, .py, .jsonl, .jsonl.gz, .parquet), a dataset on the hub as OWNER/NAME@SPLIT, or
    'starter': the recorded answers of the starter set, for a first try."""
    dataset: DatasetConfig = DatasetConfig()
    """Tasks whose texts are searched for in the corpus."""
    ngram: int = Field(default=13, ge=4, le=100)
    """Number of words in an n-gram. Punctuation and case do not count."""
    common_tasks: int = Field(default=5, ge=2)
    """An n-gram that at least this many tasks share is boilerplate and does not count."""
    ngram_threshold: float = Field(default=0.2, gt=0, le=1)
    """A task is contaminated if the corpus contains at least this share of its n-grams."""
    fuzzy_threshold: float = Field(default=0.8, gt=0, le=1)
    """A task is contaminated if a passage of the corpus is at least this similar to a prompt, solution or test."""
    store: str = "results/store"
    """Folder or URL (s3://bucket/prefix) of the store that keeps the result."""


class Contamination(Study[ContaminationConfig]):
    """List the tasks whose prompt, solution or test a corpus contains, exactly or almost.

    The corpus is read once, in pieces. See docs/contamination.md.
    """

    title = "Contamination"
    description = "Find the tasks whose prompts, solutions or tests a corpus contains, exactly or almost."
    schema = CONTAMINATION
    settings = ContaminationConfig
    options = (
        SettingOption(
            "corpus",
            help="Folder or file (.txt, .md, .py, .jsonl, .jsonl.gz, .parquet), or a hub dataset as OWNER/NAME@SPLIT.",
            is_argument=True,
            required=True,
        ),
        SettingOption("dataset.source", "dataset", default="bigcode/bigcodebench", shown="bigcode/bigcodebench"),
        *("dataset.subset", "dataset.ids", "dataset.offline"),
        *("ngram", "common_tasks", "ngram_threshold", "fuzzy_threshold", "store"),
    )

    def subject(self, settings: ContaminationConfig) -> str:
        return f"{settings.dataset.source} in {settings.corpus}"
