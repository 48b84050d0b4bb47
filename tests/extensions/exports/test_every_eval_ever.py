"""Files of Every Eval Ever: what stands in them, and what its real package says of them."""

import hashlib
import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow_exports.every_eval_ever import Evaluator, write_every_eval_ever
from bigcodeflow_exports.exported_run import ExportedRun, exported_run

from .conftest import read_by

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def written(run: RecordedRun, folder: Path, **options: Any) -> list[Path]:
    with exported_run(run) as found:
        return write_every_eval_ever(found, folder, now=NOW, **options)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_scores_come_with_all_that_is_known_of_them(model_run: RecordedRun, tmp_path: Path) -> None:
    """Who, what, on which tasks, how asked, how sure; the path is the datastore's."""
    path, _ = written(model_run, tmp_path, evaluator=Evaluator("Acme Labs", "third_party"))
    parts = path.relative_to(tmp_path).parts
    assert parts[:4] == ("data", "bigcodebench", "openai", "nova-7b")
    assert uuid.UUID(path.stem).version == 4
    log = json.loads(path.read_text())
    assert log["source_metadata"]["source_organization_name"] == "Acme Labs"
    assert log["model_info"]["additional_details"]["deployment_type"] == "externally_managed"
    assert log["model_info"]["inference_platform"] == "openai"
    first = log["evaluation_results"][0]
    assert (first["evaluation_name"], first["metric_config"]["metric_name"]) == ("bigcodebench_complete", "pass@1")
    assert first["score_details"]["score"] == pytest.approx(1 / 3)
    assert first["source_data"]["hf_repo"] == "bigcode/bigcodebench"
    assert first["generation_config"]["generation_args"]["temperature"] == 0.2
    assert first["score_details"]["details"]["n_unjudged"] == "1.0"


def test_each_judged_sample_is_a_line(model_run: RecordedRun, tmp_path: Path) -> None:
    """Prompt, answer, program, score and tokens; the one that was not judged has none. The log states the checksum."""
    path, companion = written(model_run, tmp_path)
    rows = lines_of(companion)
    assert [(row["sample_id"], row["evaluation"]["score"]) for row in rows] == [
        ("BigCodeBench/0", 1.0), ("BigCodeBench/0", 0.0), ("BigCodeBench/1", 0.0), ("BigCodeBench/1", 1.0), ("BigCodeBench/2", 0.0),
    ]  # fmt: skip
    assert rows[0]["output"]["raw"] == ["```python\nsolution 0\n```"]
    assert rows[0]["answer_attribution"][0]["extracted_value"] == "solution 0"
    assert rows[0]["input"]["raw"] == "def task_func(): # one\n"
    assert rows[0]["input"]["formatted"] == "Be brief.\n\nComplete: def task_func()"
    assert rows[0]["token_usage"]["total_tokens"] == 120
    assert rows[2]["error"] == "timeout"
    stated = json.loads(path.read_text())["detailed_evaluation_results"]
    assert stated["file_path"] == companion.relative_to(tmp_path).as_posix()
    assert stated["checksum"] == hashlib.sha256(companion.read_bytes()).hexdigest()
    assert stated["total_rows"] == len(rows)


def test_a_run_exported_again_is_the_same_record(model_run: RecordedRun, tmp_path: Path) -> None:
    """Its id does not depend on the moment of the export."""
    first = written(model_run, tmp_path)
    with exported_run(model_run) as found:
        assert write_every_eval_ever(found, tmp_path) == first
    assert len([*(tmp_path / "data").rglob("*.json*")]) == 2


def test_an_imported_run_states_no_answer_and_no_library_of_ours(imported_run: RecordedRun, tmp_path: Path) -> None:
    """The original judged it, by a version that nobody knows."""
    path, companion = written(imported_run, tmp_path)
    log, rows = json.loads(path.read_text()), lines_of(companion)
    assert log["eval_library"] == {"name": "bigcodebench", "version": "unknown"}
    assert log["model_info"]["additional_details"]["deployment_type"] == "unknown"
    assert "sandbox" not in log["evaluation_results"][0]["generation_config"]["generation_args"]
    assert (rows[0]["output"]["raw"], rows[0]["token_usage"], rows[0]["performance"]) == ([], None, None)
    assert rows[0]["answer_attribution"][0]["source"] == "program of the result file"


def test_scores_alone_have_no_companion(model_run: RecordedRun, tmp_path: Path) -> None:
    """Without samples nothing refers to any."""
    [path] = written(model_run, tmp_path, samples=False)
    assert "detailed_evaluation_results" not in json.loads(path.read_text())


_VALIDATE = """
import json, subprocess, sys
done = subprocess.run(
    [sys.executable, "-m", "every_eval_ever", "validate", "--format", "json", *sys.argv[1:]], capture_output=True, text=True
)
try:
    reports = json.loads(done.stdout)
except ValueError:
    raise SystemExit(done.stdout + done.stderr)
print(json.dumps({"rc": done.returncode, "reports": reports}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("run", ["model_run", "imported_run"])
def test_the_real_package_finds_every_file_valid(
    run: str, tmp_path: Path, readers: InstalledEnvironment, request: pytest.FixtureRequest
) -> None:
    """Schema, path, companion, checksum, bounds and identity, by the checks of its own datastore."""
    files = [path.relative_to(tmp_path / "out") for path in written(request.getfixturevalue(run), tmp_path / "out")]
    found = read_by(readers, _VALIDATE, *files, cwd=tmp_path / "out")
    problems = [problem for report in found["reports"] for problem in (*report["errors"], *report["warnings"])]
    assert problems == []
    assert found["rc"] == 0
    assert sorted(report["file_type"] for report in found["reports"]) == ["aggregate", "instance"]


@pytest.mark.parametrize(
    ("source", "subset", "name"),
    [
        ("bigcode/bigcodebench@v0.1.4", "full", "bigcodebench"),
        ("bigcode/bigcodebench@v0.1.4", "hard", "bigcodebench-hard"),
        ("bigcode/bigcodebench-hard@v0.1.4", "full", "bigcodebench-hard"),
        ("bigcode/bigcodebench-hard", "hard", "bigcodebench-hard"),
        ("bigcodebench.parquet", "hard", "bigcodebench-hard"),
        ("mine.jsonl.gz", "full", "mine"),
    ],
)
def test_hard_tasks_are_named_as_such(
    model_run: RecordedRun, monkeypatch: pytest.MonkeyPatch, source: str, subset: str, name: str
) -> None:
    """Whether the dataset holds the hard tasks alone, or the run chose them."""
    config = model_run.config | {"dataset": model_run.config["dataset"] | {"subset": subset}}
    with exported_run(model_run.model_copy(update={"config": config})) as run:
        monkeypatch.setitem(run.__dict__, "dataset", run.dataset.model_copy(update={"dataset": source}))
        assert isinstance(run, ExportedRun)
        assert run.benchmark == name
