"""Reader of NeMo-Skills: ``output*.jsonl`` after its evaluation, with a program and a verdict in each row."""

from pathlib import Path

from bigcodeflow_harnesses.samples import Content, content_of, first_row, rows_of, sample_of


def read(path: Path) -> Content | None:
    """Read a file of outputs; None for another file."""
    first = first_row(path)
    if not {"generation", "task_id"} <= first.keys():
        return None
    rows = [row for _, row in rows_of(path)]
    subset = first.get("split") if first.get("split") in ("full", "hard") else None
    # It calls BigCodeBench's evaluator, which writes a status, with calibration; the rows have no code_prompt.
    return content_of(path, "nemo_skills", map(_sample, rows), {"subset": subset}, lacks_setup="status" in first)


def _sample(row: Content) -> Content:
    correct = row.get("is_correct-plus", row.get("is_correct"))  # of evalplus: with all tests, with its base tests
    status = row.get("status") if correct is None else "pass" if correct else "fail"
    return sample_of(row.get("task_id"), row.get("solution", row.get("completion")), status, row["generation"])
