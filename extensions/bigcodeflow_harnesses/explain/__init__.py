"""Study that explains why two results over the same tasks differ, and decides which verdict is right."""

import pyarrow as pa
from pydantic import Field

from bigcodeflow.core.settings import SET, SettingOption, SettingsModel
from bigcodeflow.studies import Study

#: Causes of a difference.
CAUSES = {
    "tampering": "the program passes tests that no correct program passes",
    "noise": "executions of the same program disagree",
    "extraction": "another program was taken out of the answer",
    "calibration": "one of the two put the task's setup in front of the program",
    "version": "another version of the task's test",
    "limit": "another time limit",
    "memory": "another memory limit",
    "runner": "another way to execute the tests",
    "environment": "another machine: network, data, libraries",
    "unexplained": "no single change gives the recorded verdict",
}
_COLUMNS = {
    "task_id": (pa.string(), "the task"),
    "sample_index": (pa.int32(), "0-based number of the answer to this task"),
    "first_status": (pa.string(), "status in the first result"),
    "second_status": (pa.string(), "status in the second result"),
    "cause": (pa.string(), ", ".join(CAUSES)),
    "detail": (pa.string(), "value of the cause, such as network"),
    "evidence": (pa.string(), "what was executed, and what came of it"),
    "right": (pa.string(), "result whose verdict is right, first or second; empty: nothing decides it"),
    "reason": (pa.string(), "what decides it"),
    "share": (pa.float64(), "part in the task's score, first minus second"),
    "n_tasks": (pa.int32(), "tasks that both results judge"),
}


class ExplainConfig(SettingsModel):
    """Settings of the study: the two runs, and settings with which their results may have been made."""

    first: str = ""
    """First run, own or imported, named as `bigcodeflow compare` takes it, such as RUN or RUN@raw."""
    second: str = ""
    """Second run, named in the same way."""
    environment: str = "bigcodebench"
    """Sandbox environment that is assumed for a result that does not state its environment."""
    environments: tuple[str, ...] = ()
    """Other sandbox environments in which a result may have been made."""
    time_limits: tuple[int, ...] = (3, 10, 30, 60, 120)
    """Time limits in seconds with which a result may have been made."""
    executions: int = Field(default=5, ge=2, le=100)
    """Executions of a program that must agree before causes other than noise are tried; a flip needs twice as many."""
    overrides: tuple[str, ...] = ()
    """Any other settings of the executions, such as 'execution.workers=2'."""
    store: str = "results/store"
    """Folder or URL (s3://bucket/prefix) of the recorded runs; their executions are not repeated."""


class Explain(Study[ExplainConfig]):
    """Explain why two results over the same tasks differ, and say which verdict is right.

    If two verdicts of a program differ, the program is executed again, with one change at a time, until the verdict
    flips: that change is the cause. If a result does not state a setting, several values are tried. Executions are
    cached. See docs/harnesses.md.
    """

    title = "Differences of two results"
    description = "Why the verdicts of two results differ, by cause, with the evidence."
    schema = pa.schema(
        [pa.field(name, kind, metadata={"meaning": text}) for name, (kind, text) in _COLUMNS.items()],
        metadata={"grain": "task and sample_index whose verdicts differ"},
    )
    settings = ExplainConfig
    options = (
        *(SettingOption(name, is_argument=True, required=True) for name in ("first", "second")),
        *("environment", SettingOption("environments", "other_environment"), "time_limits", "executions", "store", SET),
    )

    def subject(self, settings: ExplainConfig) -> str:
        return f"{settings.first} and {settings.second}"
