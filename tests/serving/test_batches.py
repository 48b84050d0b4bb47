"""What a batch is answered, and what is executed for it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving.conftest import Serve
from tests.serving.services import RIGHT, Served, item, sleeper, until

pytestmark = pytest.mark.sandbox


def results(served: Served, items: list[dict], **more: object) -> dict[str, dict]:
    """Lines of the answer by id."""
    answer = served.client.post("/v1/batches", json={"items": items} | more)
    assert answer.status_code == 200, answer.text
    return lines_of(answer.text)


def lines_of(text: str) -> dict[str, dict]:
    return {line["id"]: line for line in (json.loads(line) for line in text.splitlines() if line)}


def test_each_item_gets_its_verdict(shared_service: Served) -> None:
    """Pass, wrong answer, exception, no Python, time that runs out, an early end with a good exit code: what it is."""
    programs = {
        "pass": RIGHT,
        "assertion": "def task_func():\n    print('seen')\n    return 41\n",
        "missing_setup": "def task_func():\n    return np.sum(1)\n",
        "syntax": "def task_func(:\n",
        "timeout": "def task_func():\n    while True:\n        pass\n",
        "crash": "import os\ndef task_func():\n    os._exit(0)\n",
    }
    found = results(shared_service, [item(name, program, time_seconds=0.5) for name, program in programs.items()])
    verdicts = {name: line["verdict"] for name, line in found.items()}
    assert {name: one["failure_kind"] or one["status"] for name, one in verdicts.items()} == {
        name: name for name in programs
    }
    assert verdicts["assertion"]["tests"][0]["name"] == "test_answer"
    assert "41 != 42" in verdicts["assertion"]["tests"][0]["trace"]
    assert verdicts["assertion"]["stdout"] == "seen\n"
    assert (verdicts["pass"]["tests_expected"], verdicts["pass"]["tests_run"]) == (1, 1)


def test_only_a_library_that_is_absent_is_the_services_fault(shared_service: Served) -> None:
    """A client may say what a task needs; what is missing of it the service sees itself, not from the program's word."""
    raised = "raise ModuleNotFoundError(\"No module named '{0}'\", name='{0}')\n"
    programs = {"absent": "import nosuchlibrary\n" + RIGHT, "raised": raised.format("json"), "other": "import nosuch\n"}
    items = [item(name, program, task_modules=["json", "nosuchlibrary"]) for name, program in programs.items()]
    items.append(item("default", raised.format("unittest")))
    found = {name: line["verdict"] for name, line in results(shared_service, items).items()}
    assert {name: (one["status"], one["failure_kind"]) for name, one in found.items()} == {
        "absent": ("infra_error", "infrastructure"),
        "raised": ("fail", "import"),
        "other": ("fail", "import"),
        "default": ("fail", "import"),
    }


def test_tests_that_an_item_names_have_to_be_there(shared_service: Served) -> None:
    """A client that states its own expectation is judged by it."""
    found = results(shared_service, [item("a", expected_tests=["test_answer", "test_absent"])])
    assert found["a"]["verdict"]["status"] == "tampered"


@pytest.mark.slow
def test_a_pass_is_checked_where_the_item_brings_a_solution(shared_service: Served) -> None:
    """Who lies about equality passes the test and its contradiction as well; without a solution nothing is said of it."""
    lies = "class Any:\n    def __eq__(self, other):\n        return True\ndef task_func():\n    return Any()\n"
    items = [
        item("honest", reference=RIGHT),
        item("lies", lies, reference=RIGHT),
        item("wrong", "def task_func():\n    return 1\n", reference=RIGHT),
        item("believed", lies, key="another"),
    ]
    found = {name: line["verdict"] for name, line in results(shared_service, items).items()}
    assert {name: (one["status"], one["integrity"]) for name, one in found.items()} == {
        "honest": ("pass", "checked"),
        "lies": ("tampered", "tampered"),
        "wrong": ("fail", None),
        "believed": ("pass", "not checked"),
    }
    assert "test_answer" in found["lies"]["tampering"][0]


def test_a_lone_surrogate_fails_its_program_and_nothing_else(shared_service: Served) -> None:
    """JSON can say it and a model may write it; the request is answered, and Python says what it thinks of it."""
    body = json.dumps({"items": [item("a", "WORD = '\ud800'\n" + RIGHT)]})
    answer = shared_service.client.post("/v1/batches", content=body, headers={"Content-Type": "application/json"})
    verdict = lines_of(answer.text)["a"]["verdict"]
    assert (verdict["status"], verdict["failure_kind"]) == ("syntax_error", "syntax")
    assert "surrogates not allowed" in verdict["module_trace"]


def test_texts_that_break_a_parser_harm_nobody(shared_service: Served) -> None:
    """Nested beyond what Python's parser can do: a program fails for it, a test is refused."""
    deep = "-" * 100_000 + "1"
    found = results(shared_service, [item("deep", deep), item("fine")])
    assert found["deep"]["verdict"]["status"] in ("fail", "syntax_error", "crash", "out_of_memory")
    assert found["fine"]["verdict"]["status"] == "pass"
    refused = shared_service.client.post("/v1/batches", json={"items": [item("a", test=deep)]})
    assert refused.status_code == 422
    assert refused.json()["detail"] == ["items.0.test: is not valid Python (MemoryError)"]


@pytest.mark.slow
def test_items_are_reported_as_they_end(shared_service: Served) -> None:
    """A quick one does not wait for a slow one before it."""
    found = results(shared_service, [sleeper("slow", 2), item("quick", RIGHT + "# first\n")])
    assert list(found) == ["quick", "slow"]


@pytest.mark.slow
def test_limits_of_a_batch_are_those_of_its_items(shared_service: Served) -> None:
    """One that asks for less gets less."""
    # Held for a while: what is resident is looked at now and then.
    greedy = item("a", "import time\nHELD = bytearray(300 << 20)\ntime.sleep(1.0)\ndef task_func():\n    return 42\n")
    assert results(shared_service, [greedy])["a"]["verdict"]["status"] == "pass"
    assert results(shared_service, [greedy], limits={"memory_mib": 100})["a"]["verdict"]["status"] == "out_of_memory"


def test_equal_items_are_executed_once(shared_service: Served) -> None:
    """In one batch, and in one that comes later: all get a result of the same execution."""
    before = shared_service.service.jobs.executions
    program = RIGHT + "# once\n"
    first = results(shared_service, [item("a", program), item("b", program)])
    second = results(shared_service, [item("c", program)])
    assert shared_service.service.jobs.executions == before + 1
    assert first["a"]["verdict"] == first["b"]["verdict"] == second["c"]["verdict"]


@pytest.mark.parametrize(
    "change",
    [{"key": "2"}, {"time_seconds": 7.0}, {"expected_tests": ["test_answer", "test_b"]}, {"program": RIGHT + "# 2"}],
)
def test_what_differs_is_executed_anew(shared_service: Served, change: dict) -> None:
    """A fresh key is how a client asks for a fresh execution; anything else that differs is one as well."""
    one = item("a", RIGHT + f"# {sorted(change)}\n", key="1")
    results(shared_service, [one])
    before = shared_service.service.jobs.executions
    results(shared_service, [one | change])
    assert shared_service.service.jobs.executions == before + 1


def test_an_item_that_runs_is_joined(shared_service: Served) -> None:
    """Two clients ask for the same at the same time; it is executed once, and both are answered."""
    before = shared_service.service.jobs.executions
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: results(shared_service, [sleeper("joined", 0.5)]), range(2)))
    assert shared_service.service.jobs.executions == before + 1
    assert found[0] == found[1]


@pytest.mark.slow
def test_what_nobody_waits_for_is_taken_back(serve_here: Serve) -> None:
    """A client goes: the item that runs ends, the others are not begun, and their places are free again."""
    with serve_here(slots_per_core=1) as served:
        body = {"items": [sleeper(str(number), 0.4) for number in range(10)]}
        with served.client.stream("POST", "/v1/batches", json=body) as answer:
            next(answer.iter_lines())
        jobs = served.service.jobs
        assert until(lambda: jobs.open_items == 0)
        assert until(lambda: not jobs._in_slots)
        assert jobs.executions < 10
        assert results(served, [item("after")])["after"]["verdict"]["status"] == "pass"


@pytest.mark.slow
def test_what_ended_without_its_client_is_kept_for_it(serve_here: Serve) -> None:
    """The connection breaks while an item runs; asked for again, it is not executed again."""
    with serve_here(slots_per_core=1) as served:
        one = sleeper("a", 0.3)
        with served.client.stream("POST", "/v1/batches", json={"items": [one]}):
            assert until(lambda: served.service.jobs.executions == 1)
        assert until(lambda: served.service.jobs.open_items == 0)
        assert results(served, [one])["a"]["verdict"]["status"] == "pass"
        assert served.service.jobs.executions == 1


@pytest.mark.slow
def test_a_small_batch_has_its_turn_beside_a_large_one(serve_here: Serve) -> None:
    """Batches are served in turn, so that a client with one item does not wait for one with thousands."""
    with serve_here(slots_per_core=1) as served:
        large = {"items": [sleeper(str(number), 0.5) for number in range(20)]}
        with served.client.stream("POST", "/v1/batches", json=large) as answer:
            next(answer.iter_lines())
            assert results(served, [item("small")])["small"]["verdict"]["status"] == "pass"
            assert served.service.jobs.executions < 10


@pytest.mark.slow
def test_a_sample_that_sleeps_for_long_holds_nobody_up(serve_here: Serve) -> None:
    """With one slot, what comes after it is executed while it sleeps."""
    with serve_here(slots_per_core=1) as served:
        body = {"items": [sleeper("first", 9999) | {"time_seconds": 300}]}
        with served.client.stream("POST", "/v1/batches", json=body):
            assert until(lambda: served.service.jobs.executions)
            second = results(served, [item("second")])
            assert second["second"]["verdict"]["status"] == "pass"
            assert until(lambda: served.service.jobs.open_items == 1)


@pytest.mark.slow
def test_a_full_queue_says_when_to_come_back(serve_here: Serve) -> None:
    """429, with Retry-After; what was let in is not disturbed."""
    with serve_here(max_queue=2) as served:
        body = {"items": [sleeper("a", 2), sleeper("b", 2)]}
        with served.client.stream("POST", "/v1/batches", json=body) as first:
            refused = served.client.post("/v1/batches", json={"items": [item("c")]})
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
            assert refused.json()["detail"] == ["the queue holds 2 items, at most 2: send the batch of 1 later"]
            assert len(lines_of(first.read().decode())) == 2
        assert results(served, [item("c")])["c"]["verdict"]["status"] == "pass"


@pytest.mark.slow
def test_a_long_silence_has_signs_of_life(shared_service: Served) -> None:
    """Blank lines, so that neither side takes the other for gone."""
    body = {"items": [sleeper("a", 11.5)]}
    answer = shared_service.client.post("/v1/batches", json=body)
    assert answer.text.startswith("\n\n{")


def test_an_empty_environment_and_version_are_not_compared(shared_service: Served) -> None:
    """Those that are given have to be the service's own: a plan made for another one is refused."""
    info = shared_service.client.get("/v1/info").json()
    same = {"code_version": info["code_version"], "environment_sha": info["environment"]["environment_sha"]}
    assert results(shared_service, [item("a")], **same)["a"]["verdict"]["status"] == "pass"
    for name in same:
        refused = shared_service.client.post("/v1/batches", json={"items": [item("a")]} | {name: "other"})
        assert refused.status_code == 409
        assert "other" in refused.json()["detail"][0]
