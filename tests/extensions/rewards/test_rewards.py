"""Rewards of a service: in order, None for what is not known, and as TRL and verifiers take them."""

import json
import os
import pickle
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import ConfigError, EnvironmentUnusableError, ExecutionError
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from bigcodeflow_rewards import RewardService, ServiceReward
from tests.conftest import ROOT
from tests.serving.conftest import Serve
from tests.serving.services import KEY, RIGHT, TEST, Served

TWO_TESTS = TEST + "    def test_type(self):\n        self.assertIsInstance(task_func(), int)\n"
WRONG = "def task_func():\n    return 41\n"
ANSWERS = [RIGHT, WRONG, "I do not know.", f"```python\n{RIGHT}```"]
SHARES = [1.0, 0.5, 0.0, 1.0]


@contextmanager
def answering(*responses: tuple[int, Any]) -> Iterator[tuple[str, list[dict]]]:
    """A server that gives these responses one after the other, the last one for ever, and what it was sent."""
    left, sent = list(responses), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", sent
        finally:
            server.shutdown()
            thread.join()


PASS = (200, {"extra": {"pass": True, "pass_share": 1.0, "verdict": {}}})


@pytest.mark.sandbox
def test_rewards_come_in_the_order_of_the_completions(shared_service: Served, with_key: None) -> None:
    """A slow one does not lose its place; texts and messages are taken, in one part or in several."""
    slow = "import time\ndef task_func():\n    time.sleep(0.7)\n    return 42\n"
    parts = [{"type": "text", "text": "def task_func():\n"}, {"type": "text", "text": "    return 42\n"}]
    completions = [slow, [{"role": "assistant", "content": WRONG}], [{"role": "assistant", "content": parts}], []]
    service = RewardService(shared_service.url, patience_seconds=30)
    columns = {"test": [TWO_TESTS] * 4, "code_prompt": [None] * 4, "trainer_state": object()}
    for kind, rewards in (("pass", [1.0, 0.0, 1.0, 0.0]), ("pass_share", [1.0, 0.5, 1.0, 0.0])):
        assert ServiceReward(service, kind)(["?"] * 4, completions, **columns) == rewards


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_service_that_is_full_is_waited_for(serve_here: Serve, with_key: None) -> None:
    """More completions than its queue takes: each has its reward in the end."""
    with serve_here(max_queue=2) as served:
        service = RewardService(served.url, concurrency=8, patience_seconds=60)
        programs = [RIGHT + f"# {number}\n" for number in range(12)]
        assert ServiceReward(service)(["?"] * 12, programs, test=[TEST] * 12) == [1.0] * 12


@pytest.mark.slow
def test_what_is_not_known_is_no_number() -> None:
    """Faults of the machine and a service that is away give None; one that is well again gives the verdict."""
    fault = (504, {"detail": ["no sandbox"]})
    for responses, expected, requests in (
        ([fault, (503, {}), (429, {}), PASS], [1.0], 4),
        ([fault], [None], 3),
    ):
        with answering(*responses) as (url, sent):
            assert ServiceReward(RewardService(url))(["?"], [RIGHT], test=[TEST]) == expected
        assert len(sent) == requests
    assert sent[0]["config"]["provided_data"] == {"test": TEST}
    gone = RewardService(url, patience_seconds=0.1)
    assert ServiceReward(gone)(["?"], [RIGHT], test=[TEST]) == [None]


def test_a_mistake_of_the_user_ends_the_training() -> None:
    """A wrong key, a wrong test, a missing column, a share that cannot be: no reward hides it."""
    with answering((422, {"detail": ["the test is not valid Python"]})) as (url, _):
        with pytest.raises(ExecutionError, match="the test is not valid Python"):
            ServiceReward(RewardService(url))(["?"], [RIGHT], test=["("])
        with pytest.raises(ExecutionError, match="no column 'test'"):
            ServiceReward(RewardService(url))(["?"], [RIGHT])
    with pytest.raises(ConfigError, match="without fail_fast"):
        ServiceReward(RewardService(url, fail_fast=True), "pass_share")


def test_a_reward_function_can_be_pickled() -> None:
    """TRL sends it to other processes."""
    assert isinstance(pickle.loads(pickle.dumps(ServiceReward(RewardService("http://127.0.0.1:1")))), ServiceReward)


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_loop_that_trains_nothing_runs(
    shared_service: Served, with_key: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's own code: each step has the rewards of its group, and prints them."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "rewards.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(blocks[-1], names)
    starter = ROOT / "data" / "starter"
    found = names["loop"](starter / "tasks.jsonl", starter / "answers.jsonl", shared_service.url, steps=1)
    assert [len(rewards) for rewards in found] == [4]
    assert all(0.0 <= one <= 1.0 for rewards in found for one in rewards)
    assert len({one for rewards in found for one in rewards}) > 1
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.sandbox
def test_the_page_asks_the_real_client(shared_service: Served) -> None:
    """A row of the starter set and its recorded answers, through the page's function."""
    page = (ROOT / "docs" / "rewards.md").read_text()
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], names)
    starter = ROOT / "data" / "starter"
    task = json.loads((starter / "tasks.jsonl").read_text().splitlines()[0])
    answers = [json.loads(line)["raw_solution"] for line in (starter / "answers.jsonl").read_text().splitlines()[:2]]
    endpoint = shared_service.url.replace("http://", f"http://any:{KEY}@")
    found = [names["accepted"](endpoint, task, answer) for answer in answers]
    assert [accepted for accepted, _ in found] == [True, False]
    assert found[0][1] == 1.0
    assert 0.0 < found[1][1] < 1.0


@pytest.fixture(scope="module")
def trainers() -> InstalledEnvironment:
    try:
        return find_environment("trainers-cpu", "trainer")
    except EnvironmentUnusableError as error:
        pytest.skip(str(error))


def loop(trainers: InstalledEnvironment, folder: Path, *arguments: str) -> Any:
    """What a loop prints that runs with the real library and this checkout."""
    installed = Path(
        str(distribution("bigcodeflow").locate_file(f"bigcodeflow-{distribution('bigcodeflow').version}.dist-info"))
    )
    shutil.copytree(installed, folder / "path" / installed.name, dirs_exist_ok=True)
    lines = "from bigcodeflow_rewards.verifiers_taskset import TestedTaskset\n__all__ = ['TestedTaskset']\n"
    (folder / "path" / "my_tasks.py").write_text(lines)
    paths = os.pathsep.join(map(str, (folder / "path", ROOT / "src", ROOT / "extensions")))
    done = subprocess.run(
        [trainers.python, Path(__file__).with_name("trainer_loops.py"), *arguments],
        env=os.environ | {"PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "BIGCODEFLOW_SERVICE_KEY": KEY},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.sandbox
def test_trl_trains_with_the_rewards(trainers: InstalledEnvironment, shared_service: Served, tmp_path: Path) -> None:
    """A step of the real trainer; a group of which nothing is known leaves the loss a number, and has no reward."""
    tiny = ROOT / "tests" / "extensions" / "engines" / "tiny_model.py"
    subprocess.run([trainers.python, tiny, tmp_path / "model", tmp_path / "adapter"], check=True, capture_output=True)
    model = str(tmp_path / "model")
    found = loop(trainers, tmp_path, "trl", shared_service.url, json.dumps(ANSWERS), model)
    assert found["given"] == SHARES
    assert found["logged"]["rewards/bigcodeflow/mean"] == pytest.approx(sum(SHARES) / 4)
    with answering(PASS, PASS, PASS, (504, {})) as (url, _):
        found = loop(trainers, tmp_path, "trl", url, json.dumps(ANSWERS), model)
    assert sorted(found["given"], key=str) == [1.0, 1.0, 1.0, None]
    assert found["logged"]["rewards/bigcodeflow/mean"] == 1.0
    assert found["logged"]["loss"] == found["logged"]["loss"]  # no NaN


@pytest.mark.slow
@pytest.mark.sandbox
def test_verifiers_scores_with_the_rewards(
    trainers: InstalledEnvironment, shared_service: Served, tmp_path: Path
) -> None:
    """A taskset that verifiers loads by its name; a fault is the rollout's error, and its reward stays unset."""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"task_id": "T/1", "instruct_prompt": "42?", "test": TWO_TESTS, "libs": "[]"}) + "\n")
    found = loop(trainers, tmp_path, "verifiers", shared_service.url, json.dumps(ANSWERS), str(tasks))
    assert found == [{"rewards": {"solved": share}, "error": None} for share in SHARES]
    with answering((504, {})) as (url, _):
        found = loop(trainers, tmp_path, "verifiers", url, json.dumps(ANSWERS[:1]), str(tasks))
    assert found == [{"rewards": {"solved": None}, "error": "SandboxError"}]
