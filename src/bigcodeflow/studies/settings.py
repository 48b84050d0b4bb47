"""Settings that are shared by all studies that execute programs on tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.settings import SettingsModel, merged


class ExecutionSettings(SettingsModel):
    """Tasks that a study executes programs on, and where it executes them."""

    dataset: str = "starter"
    """Tasks: 'starter', a hub dataset, or a Parquet or JSONL file in the hub's schema."""
    ids: str = ""
    """Only these task numbers or ids, such as '1,5-9'; empty takes all."""
    environment: str = "starter"
    """Sandbox environment: 'starter' or 'bigcodebench', see `bigcodeflow env list`."""
    workers: int = Field(default=0, ge=0, le=1024)
    """Samples that compute at the same time; 0 takes one a core."""
    overrides: tuple[str, ...] = ()
    """Any other settings of a run, such as 'execution.limits.time_seconds=60'."""
    store: str = "results/store"
    """Folder or URL (s3://bucket/prefix) of cached artifacts: what was asked and executed is reused."""

    def run_config(self, study: str, sections: Mapping[str, Any], extra: Sequence[str] = ()) -> RunConfig:
        """Return the configuration of a run for ``study``; ``sections`` and ``extra`` override these settings."""
        given = {"store": self.store, "execution": {"environment": self.environment, "workers": self.workers}}
        return load_settings(merged(given, sections, study), study, (*self.overrides, *extra))
