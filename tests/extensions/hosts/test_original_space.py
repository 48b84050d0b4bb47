"""Sample files that the original's space judges become recorded runs: its double, and our own space in its place."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest
from gradio_client.exceptions import AppError, AuthenticationError
from gradio_client.utils import QueueError

from bigcodeflow.config import DatasetConfig, ServiceConfig
from bigcodeflow.core.errors import ConfigError, ExecutionError, SamplesError
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow_harnesses import importing
from bigcodeflow_hosts import original_space
from bigcodeflow_hosts.original_space import PARAMETERS, results_of_space
from tests.doubles.listeners import RecordingListener
from tests.serving.space_process import SpaceProcess

SERVICE = ServiceConfig(url="http://127.0.0.1:9", timeout_seconds=120)
SCORES = {"pass@1": 1.0, "gt_pass_rate": 1.0, "failed_tasks": []}


class Space:
    """Gradio's client of the original's space, which judges every sample as a pass after the given errors."""

    def __init__(self) -> None:
        self.settings = ["samples", *PARAMETERS]
        self.errors: list[Exception] = []
        self.answer: Any = None
        self.calls = 0

    def __call__(self, _url: str, **_options: object) -> Self:
        return self

    def view_api(self, **_: object) -> dict[str, Any]:
        endpoint = {"parameters": [{"parameter_name": name} for name in self.settings]}
        return {"named_endpoints": {"/predict": endpoint} if self.settings else {}}

    def submit(self, *, samples: Mapping[str, Any], **_: object) -> Self:
        self.calls += 1
        rows = [json.loads(line) for line in Path(samples["path"]).read_text().splitlines()]
        judged = {row["task_id"]: [row | {"status": "pass", "details": {}}] for row in rows}
        self.answer = self.answer or ({"date": "2025-05-07 20:56", "eval": judged}, SCORES)
        return self

    def result(self, timeout: float) -> Any:
        assert timeout > 0
        if self.errors:
            raise self.errors.pop(0)
        return self.answer

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Space:
    made = Space()
    monkeypatch.setattr(original_space, "Client", made)
    monkeypatch.setattr(original_space, "_SECONDS_BETWEEN_ATTEMPTS", 0.01)
    return made


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


def _scores(results: Path) -> dict[str, Any]:
    return json.loads(results.with_name(results.name.replace("_eval_results", "_pass_at_k")).read_text())


@pytest.mark.parametrize("no_gt", [False, True])
def test_what_the_space_says_becomes_a_run(space: Space, tasks: list[dict], tmp_path: Path, *, no_gt: bool) -> None:
    """The original's two files, which replace a link in their place, and a run that has its model and its view.

    It has ground truths only if the space executed them, whatever the space says.
    """
    samples, private, out = _written(tmp_path, tasks), tmp_path / "private", tmp_path / "out"
    private.write_text("mine")
    out.mkdir()
    (out / f"{samples.stem}_eval_results.json").symlink_to(private)
    results = results_of_space(SERVICE, samples, out, calibrated=False, no_gt=no_gt)
    assert private.read_text() == "mine"
    scores = _scores(results)
    assert (scores["model"], scores["split"], scores["subset"]) == ("a-model", "complete", "full")
    assert scores["calibrated"] is False
    store, listener = tmp_path / "store", RecordingListener()
    run = importing.import_results(results, settings={"source": "starter"}, store=store, listener=listener)
    assert (run.model, run.ground_truth is None) == ("a-model", no_gt)


def test_a_space_that_is_lost_or_busy_is_asked_again(space: Space, tasks: list[dict], tmp_path: Path) -> None:
    """Two losses are no reason to give up, nor any number of full queues."""
    space.errors = [AppError("lost"), *[QueueError("full")] * 4, OSError("reset")]
    assert results_of_space(SERVICE, _written(tmp_path, tasks), tmp_path / "out").is_file()
    assert space.calls == 7


@pytest.mark.parametrize(
    ("change", "calls", "error", "message"),
    [
        (
            {"errors": [AppError("lost")] * 3},
            3,
            ExecutionError,
            "failed .lost.: see its log; nothing was imported",
        ),
        ({"errors": [AuthenticationError("no")]}, 1, ExecutionError, "put it into BIGCODEFLOW_SERVICE_KEY"),
        ({"settings": []}, 0, ExecutionError, "no endpoint /predict"),
        ({"settings": ["samples"]}, 0, ConfigError, "does not accept calibrated"),
        ({"answer": {"hello": [1, 2]}}, 1, ExecutionError, "returned no results and scores"),
        (
            {"answer": ({"date": "", "eval": {"Starter/0": []}}, SCORES)},
            1,
            ExecutionError,
            "returned invalid results: see its log",
        ),
    ],
)
def test_what_gives_no_whole_result_is_refused(
    space: Space, tasks: list[dict], tmp_path: Path, *, change: dict, calls: int, error: type[Exception], message: str
) -> None:
    """Nothing is written that could be taken for a score, and nothing is asked again in vain."""
    vars(space).update(change)
    with pytest.raises(error, match=message):
        results_of_space(SERVICE, _written(tmp_path, tasks), tmp_path / "out", calibrated=False)
    assert not (tmp_path / "out").exists()
    assert space.calls == calls


def test_what_cannot_be_imported_is_not_asked(tmp_path: Path) -> None:
    """Before anything is sent anywhere."""
    with pytest.raises(SamplesError, match="no such sample file"):
        results_of_space(SERVICE, tmp_path / "none.jsonl", tmp_path)


@pytest.mark.slow
@pytest.mark.sandbox
def test_our_space_answers_as_the_originals(
    starter_environment: InstalledEnvironment, tasks: list[dict], tmp_path: Path
) -> None:
    """Programs that are right and one that is not, really executed: the same call, the same two files."""
    space = SpaceProcess(tmp_path)
    try:
        wrong = tasks[1]["code_prompt"] + "\n    return 'nothing of that kind'\n"
        samples = _written(tmp_path, tasks[:3], {1: wrong})
        service = ServiceConfig(url=space.url, timeout_seconds=200)
        results = results_of_space(service, samples, tmp_path / "out", selective_evaluate="0-2", pass_k="1")
    finally:
        space.stop()
    content = json.loads(results.read_text())["eval"]
    assert [content[task["task_id"]][0]["status"] for task in tasks[:3]] == ["pass", "fail", "pass"]
    assert _scores(results)["pass@1"] == pytest.approx(2 / 3)
    assert _scores(results)["gt_pass_rate"] == 1.0
