"""Reader of NeMo-Skills: ``output*.jsonl`` after its evaluation, with a program and a verdict in each row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bigcodeflow.importing.reading import ResultsFile
from bigcodeflow_harnesses.samples import Sample, first_row, results_of, rows_of


def read(path: Path) -> ResultsFile | None:
    """Read a file of outputs; None for another file."""
    first = first_row(path)
    if not {"generation", "task_id"} <= first.keys():
        return None
    rows = rows_of(path)
    subsets = {str(row.values.get("split")) for row in rows} & {"full", "hard"}
    return results_of(
        path,
        "nemo_skills",
        (_sample(place, row) for place, row in rows),
        stated={"subset": subsets.pop()} if len(subsets) == 1 else {},
        # It calls BigCodeBench's evaluator, which writes a status, with calibration; the rows have no code_prompt.
        lacks_setup="status" in first,
    )


def _sample(place: str, row: Mapping[str, Any]) -> Sample:
    correct = row.get("is_correct-plus", row.get("is_correct"))  # of evalplus: with all tests, with its base tests
    status = row.get("status") if correct is None else "pass" if correct else "fail"
    status = status if status in ("pass", "fail", "timeout") else None
    return Sample(place, row.get("task_id"), row.get("solution", row.get("completion")), status, row.get("generation"))
