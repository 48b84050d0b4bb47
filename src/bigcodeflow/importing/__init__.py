"""Import of the original evaluator's result files: they become recorded runs like those of this project."""

from bigcodeflow.importing.claims import agreed, claims_of_options
from bigcodeflow.importing.runs import ImportedRun, import_results

__all__ = ["ImportedRun", "agreed", "claims_of_options", "import_results"]
