"""Inspection of recorded samples: which ones failed and why, one sample in detail, and exported folders."""

from bigcodeflow.results.inspection.output import (
    detail_markdown,
    details_json,
    export_folder,
    render_detail,
    render_reruns,
    reruns_json,
    samples_csv,
    samples_json,
    samples_markdown,
    samples_table,
)
from bigcodeflow.results.inspection.queries import Filters, InspectedRun, inspect_run
from bigcodeflow.results.inspection.sample_detail import SampleDetail

__all__ = [
    "Filters",
    "InspectedRun",
    "SampleDetail",
    "detail_markdown",
    "details_json",
    "export_folder",
    "inspect_run",
    "render_detail",
    "render_reruns",
    "reruns_json",
    "samples_csv",
    "samples_json",
    "samples_markdown",
    "samples_table",
]
