"""The routes of SandboxFusion, asked by its own client and by hand."""

import base64
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
import sandbox_fusion as fusion

from bigcodeflow.judge.host.base import NOT_STARTED, Outcome
from bigcodeflow.judge.items import WorkItem
from bigcodeflow_rewards import sandbox_fusion as models_of_routes
from tests.serving.conftest import Serve
from tests.serving.services import KEY, RIGHT, TEST, Served, client_of, item, until

pytestmark = pytest.mark.sandbox

Run = Callable[..., fusion.RunCodeResponse]
TWO_TESTS = TEST + "    def test_type(self):\n        self.assertIsInstance(task_func(), int)\n"


def endpoint(served: Served) -> str:
    """The service's address as a client has it that sends no header of its own."""
    return served.url.replace("http://", f"http://any:{KEY}@")


def submission(completion: str, test: Any = TWO_TESTS, extra: dict | None = None, **task: Any) -> fusion.SubmitRequest:
    config = fusion.TestConfig(provided_data={"test": test} | task, run_timeout=5, extra=extra or {})
    return fusion.SubmitRequest(dataset="any", id=7, completion=completion, config=config)


def refused(served: Served, path: str, body: dict) -> list[str]:
    answer = served.client.post(path, json=body)
    assert answer.status_code == 422, answer.text
    return answer.json()["detail"]


@pytest.fixture(scope="session")
def run(shared_service: Served) -> Run:
    """Runs a script through the real client, which is not to try twice."""

    def call(code: str, **more: Any) -> fusion.RunCodeResponse:
        request = fusion.RunCodeRequest(code=code, language="python", **more)
        return fusion.run_code(request, endpoint(shared_service), max_attempts=1)

    return call


@pytest.fixture(scope="session")
def submit(shared_service: Served) -> Callable[..., fusion.EvalResult]:
    return lambda *args, **more: fusion.submit(submission(*args, **more), endpoint(shared_service), max_attempts=1)


def test_a_script_runs_as_a_script(run: Run) -> None:
    """With standard input, files beside it, as __main__, with its own exit code and streams."""
    code = """import sys, helper
if __name__ == "__main__":
    print(input(), open("data/a.txt").read(), helper.NAME)
    print("seen", file=sys.stderr)
    sys.exit(3)
"""
    files = {"data/a.txt": b"text", "helper.py": b"NAME = 'helper'"}
    found = run(code, stdin="line\n", files={name: base64.b64encode(text).decode() for name, text in files.items()})
    assert (found.status, found.run_result.return_code) == ("Failed", 3)
    assert (found.run_result.stdout, found.run_result.stderr) == ("line text helper\n", "seen\n")
    assert run("print(6 * 7)").dict(include={"status", "message"}) == {"status": "Success", "message": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status", "return_code"),
    [
        ("import os\nos._exit(0)", "Finished", 0),
        ("1 / 0", "Finished", 1),
        ("def (", "Finished", 1),
        ("import faulthandler\nfaulthandler._sigsegv()", "Finished", 139),
        ("import os\nos.kill(os.getppid(), 9)", "Finished", 137),
        ("while True: pass", "TimeLimitExceeded", None),
        ("import time\ntime.sleep(99)", "TimeLimitExceeded", None),
    ],
)
def test_the_end_of_a_script(run: Run, code: str, status: str, return_code: int | None) -> None:
    """However it ends, that is its own doing and no error of the sandbox."""
    found = run(code, run_timeout=1)
    assert (found.run_result.status, found.run_result.return_code) == (status, return_code)
    assert found.status == ("Success" if return_code == 0 else "Failed")


@pytest.mark.slow
def test_memory_may_be_limited(shared_service: Served) -> None:
    """The client does not know the field, its server does."""
    body = {"code": "import time\nx = bytearray(b'x') * (200 << 20)\ntime.sleep(2)", "language": "python"}
    for memory_mib, code in ((-1, 0), (100, 137)):
        found = shared_service.client.post("/run_code", json=body | {"memory_limit_MB": memory_mib}).json()
        assert (found["run_result"]["return_code"], found["message"]) == (
            code,
            "ended because of memory" if code else "",
        )


def test_a_script_is_run_each_time(run: Run) -> None:
    """What it prints may differ, so an equal request is no repetition."""
    code = "import uuid\nprint(uuid.uuid4())"
    assert run(code).run_result.stdout != run(code).run_result.stdout


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"language": "cpp"}, "language: input should be 'python'"),
        ({"fetch_files": ["a"]}, "fetch_files: list should have at most 0 items"),
        ({"files": {"../a": ""}}, "files: '../a' must be a path below"),
        ({"files": {"a": "?"}}, "files: the content of 'a' is not base64"),
        ({"memory_limit_MB": 8}, "memory_limit_MB: 8 is too little"),
        ({"memory_limit_MB": 10**6}, "limits.memory_mib: 1000000 is more than the service's"),
        ({"run_timeout": 9999}, "time_seconds: 9999 is more than the service's"),
        ({"unknown": 1}, "unknown: extra inputs are not permitted"),
    ],
)
def test_what_is_not_offered_is_refused(shared_service: Served, more: dict, reason: str) -> None:
    """One line says what; nothing is run without it."""
    [line] = refused(shared_service, "/run_code", {"code": "1", "language": "python"} | more)
    assert reason in line


def test_a_completion_is_judged(submit: Callable[..., fusion.EvalResult]) -> None:
    """The program is taken out of the answer; each test, their share and the verdict are told."""
    found = submit(f"Sure:\n```python\n{RIGHT}```\nDone.")
    assert (found.accepted, found.id, found.extracted_code) == (True, 7, RIGHT.strip())
    assert (found.extra["pass"], found.extra["pass_share"]) == (True, 1.0)
    found = submit("def task_func():\n    return 41\n")
    assert (found.accepted, [test.passed for test in found.tests]) == (False, [False, True])
    assert (found.extra["pass_share"], found.extra["verdict"]["failure_kind"]) == (0.5, "assertion")
    assert "41 != 42" in found.tests[0].exec_info.run_result.stderr
    assert found.tests[0].test_info == {"name": "test_answer", "outcome": "fail"}


def test_a_task_of_bigcodebench_is_judged_as_a_run_does(submit: Callable[..., fusion.EvalResult]) -> None:
    """Its setup stands in front of the program, and a pass is checked where its solution is sent along."""
    task = {"code_prompt": "import math\ndef task_func():", "complete_prompt": "def task_func():\n"}
    task |= {"canonical_solution": "    return 42\n"}
    honest = submit("```python\ndef task_func():\n    return math.floor(42.5)\n```", test=TEST, **task)
    assert (honest.accepted, honest.extra["verdict"]["integrity"]) == (True, "checked")
    lies = "class Any:\n    def __eq__(self, other):\n        return True\ndef task_func():\n    return Any()\n"
    found = submit(lies, test=TEST, **task)
    assert (found.accepted, found.extra["pass_share"], found.extra["verdict"]["status"]) == (False, 0.0, "tampered")


def test_a_script_of_assertions_is_a_test(submit: Callable[..., fusion.EvalResult]) -> None:
    """Whose pass needs more than an early exit with code 0."""
    test = {"code": "import math\nassert task_func() == 42\nassert math.pi > 3\n"}
    ends = "import os\ndef task_func():\n    os._exit(0)\n"
    programs = {RIGHT: True, "def task_func():\n    return 1\n": False, ends: False, "import sys\nsys.exit(0)\n": False}
    assert {program: submit(program, test=test).accepted for program in programs} == programs


def test_a_submission_can_end_at_its_first_failing_test(submit: Callable[..., fusion.EvalResult]) -> None:
    """What is not known is null then; a pass is a pass."""
    found = submit("def task_func():\n    return 40\n", extra={"fail_fast": True})
    assert [test.test_info["outcome"] for test in found.tests] == ["fail", "missing"]
    assert (found.accepted, found.extra["pass_share"]) == (False, None)
    assert submit(RIGHT, extra={"fail_fast": True}).extra["pass_share"] == 1.0


def test_a_task_is_found_by_its_id(submit: Callable[..., fusion.EvalResult], shared_service: Served) -> None:
    """Among several; without any, one line says that the service has none."""
    body = submission(RIGHT).dict()
    body["config"]["provided_data"] = [{"id": 6, "test": "assert False"}, {"id": 7, "test": TEST}]
    assert shared_service.client.post("/submit", json=body).json()["accepted"] is True
    for data in (None, [], [{"id": 8, "test": TEST}]):
        body["config"]["provided_data"] = data
        assert refused(shared_service, "/submit", body) == [
            "config.provided_data has 0 tasks with the id 7: send exactly one such task"
        ]
    body["config"]["provided_data"] = {"test": ["x = task_func()", "assert x == 42"], "labels": "{}"}
    assert shared_service.client.post("/submit", json=body).json()["accepted"] is True
    for wrong, line in (
        ({"test": 3}, "test: must be a text"),
        ({"test": [{"input": {}, "output": {}}]}, "test: must be a text"),
        ({"test": {"code": TEST, "asset": {"a": ""}}}, "test.asset: files of a test are not supported: leave it empty"),
        (
            {"test": TEST, "labels": {"programming_language": "go"}},
            "labels.programming_language: 'go' is not python",
        ),
        ({"test": TEST, "code_prompt": []}, "code_prompt: must be a text"),
    ):
        body["config"]["provided_data"] = wrong
        assert refused(shared_service, "/submit", body) == [f"config.provided_data.{line}"]


def test_the_key_may_stand_in_the_address(shared_service: Served) -> None:
    """The client sends no header of its own; a wrong or missing key is refused as elsewhere."""
    with client_of(shared_service.url, "") as stranger:
        body = {"code": "print(1)", "language": "python"}
        assert stranger.post("/run_code", json=body).status_code == 401
        assert stranger.post("/run_code", json=body, auth=("any", "wrong")).status_code == 401
        assert stranger.post("/run_code", json=body, auth=("any", KEY)).status_code == 200
        assert stranger.get("/v1/info", auth=("any", KEY)).status_code == 401


def test_every_field_is_described(shared_service: Served) -> None:
    """In the service's description of itself: those of both bodies, of the answers, and of what they hold."""
    schemas = shared_service.client.get("/openapi.json").json()["components"]["schemas"]
    models = [name for name in vars(models_of_routes) if name in schemas]
    assert {"RunCodeRequest", "RunCodeResponse", "SubmitRequest", "EvalResult", "TestCase"} <= set(models)
    fields = {
        f"{model}.{name}": field for model in models for name, field in schemas[model].get("properties", {}).items()
    }
    assert [name for name, field in fields.items() if "description" not in field] == []


@pytest.mark.slow
def test_a_fault_of_the_machine_is_no_verdict(serve_here: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """504, which every client repeats: the real one tries again, and gets the verdict once the machine is well."""
    with serve_here() as served:
        execute, faults = served.service.pool.submit, iter([True, True])

        def failing(work: WorkItem, *args: Any) -> Any:
            if next(faults, False):
                return ThreadPoolExecutor(1).submit(lambda: Outcome(exit=f"{NOT_STARTED}no sandbox"))
            return execute(work, *args)

        monkeypatch.setattr(served.service.pool, "submit", failing)
        answer = served.client.post("/submit", json=submission(RIGHT).dict())
        assert (answer.status_code, answer.headers["retry-after"]) == (504, "2")
        assert answer.json()["detail"] == [
            "the service could not judge the program (not started: no sandbox): send it again"
        ]
        assert fusion.submit(submission(RIGHT), endpoint(served), max_attempts=3).accepted
        faults = iter([True])
        script = fusion.RunCodeRequest(code="print(1)", language="python")
        assert fusion.run_code(script, endpoint(served), max_attempts=3).run_result.stdout == "1\n"


@pytest.mark.slow
def test_what_a_client_left_is_not_executed(serve_here: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not wait for its turn gives its place back, and those after it have theirs."""
    with serve_here(slots_per_core=1) as served, client_of(served.url) as impatient:
        submit, begun, may_end = served.service.pool.submit, [], threading.Event()

        def held(work: WorkItem, *args: Any) -> Any:
            """What is executed first keeps its slot until it may end."""
            begun.append(work.program)
            if len(begun) > 1:
                return submit(work, *args)
            return ThreadPoolExecutor(1).submit(lambda: may_end.wait(60) and submit(work, *args).result())

        monkeypatch.setattr(served.service.pool, "submit", held)
        with served.client.stream("POST", "/v1/batches", json={"items": [item("first")]}) as answer:
            assert until(lambda: begun)
            with pytest.raises(httpx2.TimeoutException):
                impatient.post("/submit", json=submission(RIGHT.replace("42", "2 * 21")).dict(), timeout=1)
            assert until(lambda: served.service.jobs.open_items == 1)
            may_end.set()
            lines = [json.loads(line) for line in answer.iter_lines() if line.strip()]
        assert [line["verdict"]["status"] for line in lines] == ["pass"]
        assert served.client.post("/submit", json=submission(RIGHT.replace("42", "3 * 14")).dict()).json()["accepted"]
        assert len(begun) == 2
        assert "3 * 14" in begun[1]
