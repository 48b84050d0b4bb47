"""Results of a run, computed from its verdicts: metrics, result files, the catalog and the summary."""

from bigcodeflow.results.aggregation import GroundTruthFailure, aggregate, ground_truth_failures
from bigcodeflow.results.catalog.building import CATALOG_NAME, rebuild_catalog
from bigcodeflow.results.exports import write_eval_results, write_pass_at_k
from bigcodeflow.results.summary import brief_score, render_summary

__all__ = [
    "CATALOG_NAME",
    "VERSION",
    "GroundTruthFailure",
    "aggregate",
    "brief_score",
    "ground_truth_failures",
    "rebuild_catalog",
    "render_summary",
    "write_eval_results",
    "write_pass_at_k",
]

#: Part of the key of every metrics artifact; increase it when the same verdicts give different metrics.
VERSION = 4
