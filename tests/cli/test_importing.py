"""`bigcodeflow import` of many files at once."""

import json
from pathlib import Path

from tests.conftest import Command

_FILES = 5


def test_a_hub_that_does_not_answer_is_named_once(bigcodeflow: Command, tmp_path: Path) -> None:
    """And not for each file, since the tasks of all of them are wanting."""
    for number in range(_FILES):
        sample = {"task_id": "BigCodeBench/0", "solution": "x = 1", "status": "pass", "details": {}}
        content = {"date": "2025-05-07 20:56", "eval": {"BigCodeBench/0": [sample]}}
        name = f"m{number}--main--bigcodebench-complete--vllm-0-1-sanitized_calibrated_eval_results.json"
        (tmp_path / name).write_text(json.dumps(content))
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hf")}
    done = bigcodeflow("import", *sorted(tmp_path.glob("*.json")), check=False, **nowhere)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("does not answer") == 1, done.stderr
