"""Sample files that the original's space judges become recorded runs: its double, and our own space in its place."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow import importing
from bigcodeflow.config import DatasetConfig, ServiceConfig
from bigcodeflow.core.errors import ConfigError, ExecutionError, SamplesError
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.remote import original_space
from bigcodeflow.judge.remote.original_space import SpaceQuestion, results_of_space
from tests.doubles.listeners import RecordingListener
from tests.serving.services import answers, free_port, until
from tests.serving.space_process import SpaceProcess

pytestmark = pytest.mark.slow

_DOUBLE = Path(__file__).parents[1] / "doubles" / "original_space.py"


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address below which the doubles of spaces are."""
    log, port = tmp_path_factory.mktemp("double") / "log", free_port()
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, str(_DOUBLE), str(port)], stdout=out, stderr=out)
    url = f"http://127.0.0.1:{port}"
    assert until(lambda: answers(f"{url}/plain/")), log.read_text()
    yield url
    process.kill()
    process.wait()


@pytest.fixture
def tasks() -> list[dict]:
    config = DatasetConfig()
    return load_tasks(config, resolve(config)).to_pylist()


def _written(folder: Path, tasks: list[dict], solutions: dict[int, str] | None = None) -> Path:
    """A sample file of right answers, but for those that are given."""
    lines = []
    for number, task in enumerate(tasks):
        right = task["complete_prompt"] + task["canonical_solution"]
        lines.append(json.dumps({"task_id": task["task_id"], "solution": (solutions or {}).get(number, right)}))
    path = folder / "a-model--bigcodebench-complete--openai-0-1-sanitized_calibrated.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def _service(double: str, path: str = "/original") -> ServiceConfig:
    return ServiceConfig(url=double + path, timeout_seconds=120)


def _imported(results: Path, tmp_path: Path) -> importing.ImportedRun:
    return importing.import_results(
        results, settings={"source": "starter"}, store=tmp_path / "store", listener=RecordingListener()
    )


def test_what_the_space_says_becomes_a_run(double: str, tasks: list[dict], tmp_path: Path) -> None:
    """The original's two files, and a run that has its model, its view and its ground truths."""
    samples = _written(tmp_path, tasks)
    results = results_of_space(_service(double), samples, tmp_path / "out", SpaceQuestion(calibrated=False))
    scores = json.loads(results.with_name(results.name.replace("_eval_results", "_pass_at_k")).read_text())
    assert scores["model"] == "a-model"
    assert (scores["split"], scores["subset"], scores["calibrated"]) == ("complete", "full", False)
    run = _imported(results, tmp_path)
    assert run.model == "a-model"
    assert run.ground_truth is not None


def test_a_link_in_the_folder_is_replaced(double: str, tasks: list[dict], tmp_path: Path) -> None:
    """The results stand where a link stood; the file that it led to is as it was."""
    samples, private = _written(tmp_path, tasks), tmp_path / "private"
    private.write_text("mine")
    stem = samples.name.removesuffix(".jsonl")
    for name in ("eval_results", "pass_at_k"):
        link = tmp_path / "out" / f"{stem}_{name}.json"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(private)
    results = results_of_space(_service(double), samples, tmp_path / "out", SpaceQuestion(calibrated=False))
    assert private.read_text() == "mine"
    assert not any(path.is_symlink() for path in results.parent.iterdir())


def test_without_ground_truths_none_are_claimed(double: str, tasks: list[dict], tmp_path: Path) -> None:
    """A space that did not execute them knows nothing of them, whatever it says."""
    question = SpaceQuestion(calibrated=False, no_gt=True)
    results = results_of_space(_service(double), _written(tmp_path, tasks), tmp_path / "out", question)
    assert _imported(results, tmp_path).ground_truth is None


def test_a_space_that_fails_is_asked_again(
    double: str, tasks: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once is no reason to give up."""
    monkeypatch.setattr(original_space, "_SECONDS_BETWEEN_ATTEMPTS", 0.1)
    assert results_of_space(_service(double), _written(tmp_path, tasks, {0: "lose"}), tmp_path / "out").is_file()


def test_half_a_result_is_none(double: str, tasks: list[dict], tmp_path: Path) -> None:
    """It is refused as a whole, and nothing is written that could be taken for a score."""
    samples = _written(tmp_path, tasks, {1: "half"})
    with pytest.raises(ExecutionError, match="no results that can be used"):
        results_of_space(_service(double), samples, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_space_is_refused(double: str, tasks: list[dict], tmp_path: Path) -> None:
    """One without the endpoint, one that answers something else, and one that would leave out a setting unsaid."""
    samples, question = _written(tmp_path, tasks), SpaceQuestion(calibrated=False)
    with pytest.raises(ExecutionError, match="no endpoint /predict"):
        results_of_space(_service(double, "/plain"), samples, tmp_path / "out")
    with pytest.raises(ExecutionError, match="something else than results"):
        results_of_space(_service(double, "/broken"), samples, tmp_path / "out")
    with pytest.raises(ConfigError, match="takes no calibrated"):
        results_of_space(_service(double, "/broken"), samples, tmp_path / "out", question)


def test_what_cannot_be_imported_is_not_asked(tmp_path: Path) -> None:
    """Before anything is sent anywhere."""
    service = ServiceConfig(url="http://127.0.0.1:9")
    with pytest.raises(SamplesError, match="no such sample file"):
        results_of_space(service, tmp_path / "none.jsonl", tmp_path)
    with pytest.raises(ConfigError, match="check_gt_only"):
        results_of_space(service, tmp_path / "none.jsonl", tmp_path, SpaceQuestion(check_gt_only=True))


@pytest.mark.sandbox
def test_our_space_answers_as_the_originals(
    starter_environment: InstalledEnvironment, tasks: list[dict], tmp_path: Path
) -> None:
    """Programs that are right and one that is not, really executed: the same call, the same two files."""
    space = SpaceProcess(tmp_path)
    try:
        wrong = tasks[1]["code_prompt"] + "\n    return 'nothing of that kind'\n"
        samples = _written(tmp_path, tasks[:3], {1: wrong})
        question = SpaceQuestion(selective_evaluate="0-2", pass_k="1")
        service = ServiceConfig(url=space.url, timeout_seconds=200)
        results = results_of_space(service, samples, tmp_path / "out", question)
    finally:
        space.stop()
    content = json.loads(results.read_text())["eval"]
    assert [content[task["task_id"]][0]["status"] for task in tasks[:3]] == ["pass", "fail", "pass"]
    scores = json.loads(results.with_name(results.name.replace("_eval_results", "_pass_at_k")).read_text())
    assert scores["pass@1"] == pytest.approx(2 / 3)
    assert scores["gt_pass_rate"] == 1.0
