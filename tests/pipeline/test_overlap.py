"""Ground truths, samples and requests to a model overlap: nothing waits, nothing is lost, nothing runs twice."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.errors import ExecutionError, GenerationError
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.pipeline.concurrent_stages import StageLocks, StoppedError
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all, perform_up_to
from bigcodeflow.pipeline.stages import Stage, perform
from bigcodeflow.store import ArtifactRef, open_store
from tests.doubles.listeners import RecordingListener
from tests.generation.providers.double import Completion, Fail, ModelServer, Outcome, Received, model_server

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.usefixtures("starter_environment"),
    pytest.mark.filterwarnings("default"),
]

_TASKS = 3
_ANSWER = Completion("```python\ndef task_func(*args, **kwargs):\n    return 1\n```")


class Model:
    """Gives its last answer only when those before it were executed."""

    def __init__(self, watcher: RecordingListener, last: Outcome = _ANSWER) -> None:
        self.watcher, self.last = watcher, last
        self.given: set[bytes] = set()

    def __call__(self, received: Received) -> Outcome:
        if len(self.given) < _TASKS - 1:
            self.given.add(received.raw)
            return _ANSWER
        is_executed = f"execution has {_TASKS - 1}" in self.watcher.events
        return self.last if is_executed else Fail(503, "not yet", headers={"retry-after": "0.2"})


def _config(folder: Path, server: ModelServer) -> RunConfig:
    own = {"store": str(folder / "store"), "out": str(folder / "out"), "dataset.ids": f"0-{_TASKS - 1}"}
    own |= {"samples.source": "model", "sanitizing.mode": "robust", "execution.workers": 1}
    own |= {"generation.model": "openai:m", "generation.base_url": server.url("openai")}
    own |= {"generation.requests.concurrency": 1, "execution.limits.time_seconds": 20}
    return load_config(None, (), own)


@pytest.mark.slow
def test_answers_are_executed_while_the_model_is_asked(tmp_path: Path) -> None:
    """The last answer is given only after the others were executed; the tables are those of stages in order."""
    watcher, again = RecordingListener(), RecordingListener()
    with model_server(Model(watcher)) as server:
        artifacts = perform_all(resolve(_config(tmp_path, server)), watcher)
        assert perform_all(resolve(_config(tmp_path, server)), again) == artifacts
    assert watcher.before("ground truth ends", "generation ends")
    assert watcher.before(f"execution has {_TASKS - 1}", "generation ends")
    assert watcher.before("sanitizing ends", "execution ends")
    store = open_store(tmp_path / "store")
    solutions, verdicts = (store.read(ref).to_pylist() for ref in (artifacts.sanitizing, artifacts.execution))
    assert [row["task_id"] for row in verdicts] == [row["task_id"] for row in solutions]
    statistics = artifacts.execution.statistics
    assert (statistics["executed"], statistics["executed_twice"]) == (_TASKS, 0)
    assert {event.rpartition(" ")[2] for event in again.events} == {"reused"}
    manifest = json.loads((store.folder("execution", artifacts.execution.key) / "manifest.json").read_text())
    assert artifacts.sanitizing.sha256 in {given["sha256"] for given in manifest["inputs"]}


@pytest.mark.slow
def test_what_was_executed_before_the_model_failed_is_kept(tmp_path: Path) -> None:
    """The run fails for the model's reason; the next one executes what is left."""
    watcher = RecordingListener()
    model = Model(watcher, Fail(401, "the key was withdrawn"))
    with model_server(model) as server:
        with pytest.raises(GenerationError):
            perform_all(resolve(_config(tmp_path, server)), watcher)
        assert "execution ends" not in watcher.events
        ledgers = open_store(tmp_path / "store").unfinished("execution")  # the ground truths may be unfinished as well
        assert _TASKS - 1 in [len(list(Ledger(folder).read())) for folder in ledgers]
        model.last = _ANSWER
        artifacts = perform_all(resolve(_config(tmp_path, server)), watcher)
    statistics = artifacts.execution.statistics
    assert (statistics["executed"], statistics["executed_twice"]) == (_TASKS, 0)


def _oracle(folder: Path) -> RunConfig:
    own = {"store": str(folder / "store"), "out": str(folder / "out"), "dataset.ids": "0-2", "samples.source": "oracle"}
    return load_config(None, (), own | {"execution.workers": 1, "execution.limits.time_seconds": 20})


def test_samples_are_executed_beside_ground_truths(tmp_path: Path) -> None:
    """Both stages begin before either ends, every pass is checked, and the manifest names the truths' final table."""
    watcher = RecordingListener()
    artifacts = perform_all(resolve(_oracle(tmp_path)), watcher)
    assert watcher.before("execution begins", "ground truth ends")
    assert watcher.before("ground truth begins", "execution ends")
    store = open_store(tmp_path / "store")
    rows = store.read(artifacts.execution).to_pylist()
    assert {row["integrity"] for row in rows if row["status"] == "pass"} == {"checked"}
    assert len([row for row in rows if row["status"] == "pass"]) >= 3
    manifest = json.loads((store.folder("execution", artifacts.execution.key) / "manifest.json").read_text())
    assert artifacts.ground_truth.sha256 in {given["sha256"] for given in manifest["inputs"]}


def test_passes_are_checked_when_another_run_executes_the_ground_truths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run publishes them after this run has decided to execute them, as in a sweep."""

    def overtaken(stage: Stage, *others: Any) -> ArtifactRef:
        if stage.title == "ground truth":
            monkeypatch.undo()
            perform_up_to("ground_truth", _oracle(tmp_path), RecordingListener())
        return perform(stage, *others)

    monkeypatch.setattr("bigcodeflow.pipeline.runs.perform", overtaken)
    watcher = RecordingListener()
    artifacts = perform_all(resolve(_oracle(tmp_path)), watcher)
    assert "ground truth" in watcher.reused
    rows = open_store(tmp_path / "store").read(artifacts.execution).to_pylist()
    assert [row["integrity"] for row in rows if row["status"] == "pass"] == ["checked"] * len(rows)


def test_a_failure_of_the_ground_truths_ends_the_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run fails with the error of the ground truths; what was executed stays for the next run."""
    watcher = RecordingListener()

    def fail(*_: object, **__: object) -> None:
        raise ExecutionError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("bigcodeflow.execution.planning.plan_ground_truths", fail)
        with pytest.raises(ExecutionError, match="the disk is full"):
            perform_all(resolve(_oracle(tmp_path)), watcher)
    assert "execution ends" not in watcher.events
    statistics = perform_all(resolve(_oracle(tmp_path)), watcher).execution.statistics
    assert statistics["executed_twice"] == 0


def test_stages_of_one_run_execute_together_and_those_of_another_wait() -> None:
    """A waiting run goes on when the last stage has ended, and ends when the runs are stopped."""
    locks, first, second = StageLocks(), object(), object()
    seen: list[str] = []

    def wait_for_turn() -> None:
        try:
            with locks.held("execution", second):
                seen.append("second")
        except StoppedError:
            seen.append("stopped")

    with locks.held("ground_truth", first), locks.held("execution", first):
        other = threading.Thread(target=wait_for_turn)
        other.start()
        with locks.held("execution", first), locks.held("generation", second):
            assert not seen
        locks.stop()
    other.join()
    assert seen == ["stopped"]
