"""The HTML report: a single offline file with the scores of runs and all samples behind the scores."""

from bigcodeflow.report.runs import ReportedRun, select_runs
from bigcodeflow.report.writer import WrittenReport, write_report

__all__ = ["ReportedRun", "WrittenReport", "select_runs", "write_report"]
