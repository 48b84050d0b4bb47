"""The example of docs/benchmarks_of_your_own.md, and mistakes that its users make."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.command import add_distribution, process_in
from tests.conftest import ROOT

PAGE = (ROOT / "docs/benchmarks_of_your_own.md").read_text()
PROGRAM, ENTRY_POINT = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "toml"))
ROW = json.loads(re.search(r"rows such as `(\{.*?\})`:", PAGE.replace("\n", " "))[1])


@pytest.mark.sandbox
def test_the_example_of_the_page_is_a_benchmark(tmp_path: Path) -> None:
    """It has under 60 lines; its reference passes and is checked, and one part alone passes for an answer to it."""
    assert PROGRAM.count("\n") + ENTRY_POINT.count("\n") < 60
    declared = ENTRY_POINT.splitlines()[-1].replace('"', "")
    add_distribution(tmp_path, "mine", f"[bigcodeflow.datasets]\n{declared}\n")
    (tmp_path / "mine.py").write_text(PROGRAM)
    rows = [ROW, {**ROW, "id": 1}]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    answers = [f"def double(x):\n    return {text}" for text in ("x + x", "2 * int(x)", "None")]
    lines = [{"task_id": f"Mine/{row['id']}", "raw_solution": text} for row in rows for text in answers]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    command, path = process_in(tmp_path), {"PYTHONPATH": str(tmp_path)}
    done = command("run", "--no-prefect", "--dataset", "lab/mine=rows.jsonl", "--samples", "answers.jsonl", **path)
    assert "2 of 2 pass" in done.stdout
    [folder] = (tmp_path / "results/runs").iterdir()
    scores = {
        row["metric"]: row["value"]
        for row in pq.read_table(folder / "metrics.parquet").to_pylist()
        if row["slice_kind"] == "all" and row["k"] == 1 and row["metric"].startswith("pass@k")
    }
    assert scores["pass@k"] == pytest.approx(1 / 3)
    assert scores["pass@k:easy"] == pytest.approx(2 / 3)
    (tmp_path / "bad.jsonl").write_text('{"id": 1}\n')
    refused = command("dataset", "validate", "lab/mine=bad.jsonl", check=False, **path)
    assert "line 1: has no column name, arguments, question, solution, cases" in refused.stderr
