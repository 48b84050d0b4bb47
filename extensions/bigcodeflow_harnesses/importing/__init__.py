"""Import of result files of the original evaluator and, by plug-ins, of other harnesses: they become recorded runs."""

from bigcodeflow_harnesses.importing.claims import agreed, claims_of_options
from bigcodeflow_harnesses.importing.runs import ImportedRun, import_results

__all__ = ["ImportedRun", "agreed", "claims_of_options", "import_results"]
