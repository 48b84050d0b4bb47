"""`bigcodeflow import` and `bigcodeflow inspect` as a user meets them: real files, real sandboxes, exit codes."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest

from bigcodeflow.core.calibration import calibrate
from bigcodeflow.core.errors import ConfigError, DatasetError
from bigcodeflow_harnesses.importing.commands import import_results, task_numbers
from tests.conftest import ROOT, Command

pytestmark = pytest.mark.sandbox

TASKS = [json.loads(line) for line in (ROOT / "data" / "starter" / "tasks.jsonl").read_text().splitlines()[:2]]
FILE = "m--main--bigcodebench-complete--vllm-0-1-sanitized_calibrated_eval_results.json"
STARTER = ("--dataset", "starter", "--ids", "0-1")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A file that calls both ground truths failures: of the first that is wrong, the second fails for its own reason."""
    solutions = [TASKS[0]["complete_prompt"] + TASKS[0]["canonical_solution"], "def task_func(*args):\n    return None"]
    entries = {}
    for task, solution in zip(TASKS, solutions, strict=True):
        entry = {"task_id": task["task_id"], "solution": calibrate(task["code_prompt"], solution), "status": "fail"}
        entries[task["task_id"]] = [entry | {"details": {"ALL": "\x1b[31m[bold]oops"}}]
    path = tmp_path / FILE
    path.write_text(json.dumps({"date": "2025-05-07 20:56", "eval": entries}))
    return path


@pytest.mark.slow
def test_import_then_inspect(bigcodeflow: Command, tmp_path: Path, results: Path) -> None:
    """The file becomes a run with its score and no claim about ground truths; its failures are listed and exported."""
    done = bigcodeflow("import", results, *STARTER)
    assert "0.0 %" in done.stdout
    assert "Ground truths" not in done.stdout
    assert "ground truths: not known" in done.stderr
    listed = bigcodeflow("inspect", "m--main", "--format", "csv")
    assert [row["task_id"] for row in csv.DictReader(io.StringIO(listed.stdout))] == ["Starter/0", "Starter/1"]
    assert "\\x1b[31m[bold]oops" in bigcodeflow("inspect", "latest").stdout
    story = bigcodeflow("inspect", "latest", "1").stdout
    assert "\x1b" not in story
    assert "raw answers only if `bigcodeflow import` was given --samples" in story
    assert "def task_func(*args)" in story
    assert "ground truth: not executed" in story
    bigcodeflow("inspect", "latest", "--export", "out")
    assert (tmp_path / "out" / "Starter" / "1" / "completion_0.py").read_text().endswith("return None")


@pytest.mark.slow
def test_rerun_shows_both_verdicts(
    bigcodeflow: Command, tmp_path: Path, results: Path, starter_environment: object
) -> None:
    """The story's own command executes the sample in a real sandbox; exit code 1 where the status differs."""
    bigcodeflow("import", results, *STARTER)
    story = bigcodeflow("inspect", "latest", "0").stdout
    command = next(line for line in story.splitlines() if line.startswith("bigcodeflow inspect "))
    done = bigcodeflow(*shlex.split(command)[1:], "--format", "json", check=False)
    assert done.returncode == 1, done.stderr
    verdicts = json.loads(done.stdout)
    assert (verdicts["recorded"]["status"], verdicts["again"]["status"]) == ("fail", "pass")
    assert verdicts["again"]["environment_sha"] == starter_environment.environment_sha
    assert "the environment is not the one of the recorded verdict" in done.stderr
    same = bigcodeflow("inspect", "latest", "1", "--rerun")
    assert "executed again" in same.stdout
    assert not list((tmp_path / "results" / "store").rglob("*.partial"))


@pytest.mark.slow
def test_a_run_of_here_is_inspected_and_rerun(
    bigcodeflow: Command, tmp_path: Path, starter_environment: object
) -> None:
    """A stub's failure is found by its text, and executing it again gives the same verdict in the same environment."""
    bigcodeflow("evaluate", "--samples", "stub", *STARTER[:2], "--environment", "starter", "--ids", "0")
    [row] = json.loads(bigcodeflow("inspect", "latest", "--text", "task_func", "--format", "json").stdout)
    assert row["status"] == "fail"
    assert "## ground truth: pass" in bigcodeflow("inspect", "latest", "0", "--format", "markdown").stdout
    assert "the environment is not" not in bigcodeflow("inspect", "latest", "0", "--rerun").stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["import", "nowhere_eval_results.json", *STARTER], ["nowhere_eval_results.json", "cannot be read"]),
        (["import", FILE, FILE, "--name", "x"], ["--name", "alone"]),
        (["import", FILE, *STARTER, "--samples", "none.jsonl"], ["none.jsonl"]),
        (["inspect", "latest"], ["no recorded run", "bigcodeflow run"]),
        (["inspect", "latest", "--rerun"], ["--rerun", "task"]),
    ],
)
def test_a_mistake_is_one_message_without_a_traceback(
    bigcodeflow: Command, tmp_path: Path, results: Path, arguments: list[str], parts: list[str]
) -> None:
    """What was wrong and what to do, exit code 1, and no run is recorded."""
    done = bigcodeflow(*arguments, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in " ".join(done.stderr.split())
    assert not (tmp_path / "results" / "store" / "runs").exists()


def test_a_bad_file_does_not_keep_the_others_out(bigcodeflow: Command, tmp_path: Path, results: Path) -> None:
    """Of several files each that fits is recorded; the others are named, with exit code 1."""
    (tmp_path / "bad_eval_results.json").write_text("{}")
    done = bigcodeflow("import", "bad_eval_results.json", results, *STARTER, check=False)
    assert done.returncode == 1
    assert "bad_eval_results.json: holds no results" in done.stderr
    assert "2 samples of 2 tasks" in " ".join(done.stdout.split())


def test_a_hub_that_does_not_answer_is_named_once(bigcodeflow: Command, tmp_path: Path) -> None:
    """And not for each file, since the tasks of all of them are wanting."""
    for number in range(5):
        sample = {"task_id": "BigCodeBench/0", "solution": "x = 1", "status": "pass", "details": {}}
        content = {"date": "2025-05-07 20:56", "eval": {"BigCodeBench/0": [sample]}}
        (tmp_path / FILE.replace("m--", f"m{number}--")).write_text(json.dumps(content))
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hf")}
    done = bigcodeflow("import", *sorted(tmp_path.glob("*.json")), check=False, **nowhere)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("does not answer") == 1, done.stderr


def test_what_a_space_needs_is_asked_for_first() -> None:
    """The sample file, the prompts that it answers, and task numbers: it knows neither ranges nor prefixes."""
    for given, message in (({"split": "complete"}, "--samples"), ({"samples": "x.jsonl"}, "--split")):
        with pytest.raises(ConfigError, match=message):
            import_results(from_space="http://127.0.0.1:9", **given)
    assert task_numbers("1,5-7, BigCodeBench/12") == "1,5,6,7,12"
    assert not task_numbers("")
    with pytest.raises(DatasetError, match="x is not in the dataset"):
        task_numbers("1,x")
