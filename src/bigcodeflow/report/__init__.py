"""The HTML report: one file without network that shows what runs scored, and every sample behind the scores."""

from bigcodeflow.report.runs import ReportedRun, select_runs
from bigcodeflow.report.writer import WrittenReport, write_report

__all__ = ["ReportedRun", "WrittenReport", "select_runs", "write_report"]
