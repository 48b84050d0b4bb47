"""Export of recorded runs to other programs: Inspect, Every Eval Ever, the Hugging Face Hub; plug-ins add others.

Each exporter takes an :class:`ExportedRun` or a recorded run and writes what the store holds. Unknown values, which are
common in imported runs, are left out. See docs/exporting.md.
"""

from bigcodeflow.exporting.every_eval_ever import Evaluator, Relationship, write_every_eval_ever
from bigcodeflow.exporting.exported_run import ExportedRun, exported_run
from bigcodeflow.exporting.inspect_log import write_inspect_log
from bigcodeflow.exporting.model_repository import Proposal, propose_eval_results

__all__ = [
    "Evaluator",
    "ExportedRun",
    "Proposal",
    "Relationship",
    "exported_run",
    "propose_eval_results",
    "write_every_eval_ever",
    "write_inspect_log",
]
