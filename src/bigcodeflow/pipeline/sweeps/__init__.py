"""Sweeps: models x splits x subsets x settings from one YAML, of which only what is not finished runs."""

from bigcodeflow.pipeline.sweeps.config import SweepConfig, SweepModel, SweepSetting, load_sweep
from bigcodeflow.pipeline.sweeps.members import Member, members_of
from bigcodeflow.pipeline.sweeps.planning import Plan, last_runs, placed, plan_of
from bigcodeflow.pipeline.sweeps.results import (
    MemberResult,
    SweepFailedError,
    brief_rows,
    failed_result,
    failure_of,
    finished_result,
    folder_of,
    plan_rows,
    result_rows,
    reused_result,
    write_results,
)

__all__ = [
    "Member",
    "MemberResult",
    "Plan",
    "SweepConfig",
    "SweepFailedError",
    "SweepModel",
    "SweepSetting",
    "brief_rows",
    "failed_result",
    "failure_of",
    "finished_result",
    "folder_of",
    "last_runs",
    "load_sweep",
    "members_of",
    "placed",
    "plan_of",
    "plan_rows",
    "result_rows",
    "reused_result",
    "write_results",
]
