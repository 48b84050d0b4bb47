"""Reader for NeMo-Skills: after an evaluation, each row of ``output*.jsonl`` has a program and a verdict."""

from pathlib import Path

from bigcodeflow_harnesses.samples import Content, content_of, first_row, rows_of, sample_of


def read(path: Path) -> Content | None:
    """Read an output file of NeMo-Skills; return None if the file has another format."""
    first = first_row(path)
    if not {"generation", "task_id"} <= first.keys():
        return None
    rows = [row for _, row in rows_of(path)]
    subset = first.get("split") if first.get("split") in ("full", "hard") else None
    # NeMo-Skills calls BigCodeBench's evaluator, which calibrates and writes a status; the rows lack code_prompt.
    return content_of(path, "nemo_skills", map(_sample, rows), {"subset": subset}, lacks_setup="status" in first)


def _sample(row: Content) -> Content:
    correct = row.get("is_correct-plus", row.get("is_correct"))  # evalplus: all tests, base tests only
    status = row.get("status") if correct is None else "pass" if correct else "fail"
    return sample_of(row.get("task_id"), row.get("solution", row.get("completion")), status, row["generation"])
