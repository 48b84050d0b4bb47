"""Programs in real sandboxes: every status, every failure kind, and what is reported about them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from bigcodeflow.judge.host import observation
from bigcodeflow.judge.host.cgroups import find_cgroup_dir
from bigcodeflow.judge.host.local import LocalBackend

from .conftest import RIGHT, item, judged

pytestmark = pytest.mark.sandbox

Judge = Callable[..., dict]

PROGRAMS = [
    ("a right answer", RIGHT, "pass", ""),
    ("a wrong answer", "def task_func():\n    return 41\n", "fail", "assertion"),
    ("an exception", "def task_func():\n    raise KeyError(1)\n", "fail", "exception"),
    ("a wrong method", "def task_func():\n    return 'x'.nothing()\n", "fail", "wrong_api"),
    ("a missing name", "def task_func():\n    return np.sum(1)\n", "fail", "missing_setup"),
    ("an import that nobody has", "import nosuchlibrary\n" + RIGHT, "fail", "import"),
    ("a library that the task needs", "import needed\n" + RIGHT, "infra_error", "infrastructure"),
    ("no Python", "Sure! Here is the code:\n", "syntax_error", "syntax"),
    ("a NUL byte", RIGHT + "\x00", "syntax_error", "syntax"),
    ("no function", "x = 1\n", "fail", "missing_setup"),
    ("an endless loop", "def task_func():\n    while True:\n        pass\n", "timeout", "timeout"),
    ("endless sleep", "import time\ndef task_func():\n    time.sleep(9999)\n", "timeout", "timeout"),
    ("endless work at import", "while True:\n    pass\n", "timeout", "timeout"),
    ("an endless list", "def task_func():\n    x = []\n    while True:\n        x.append(bytes(10**7))\n", "out_of_memory", "memory"),
    ("one giant block", "def task_func():\n    return bytearray(1 << 40)\n", "out_of_memory", "memory"),
    ("children of which each holds a part", "import os, time\ndef task_func():\n    for _ in range(4):\n        if os.fork() == 0:\n            x = bytearray(b'x') * (120 << 20)\n            time.sleep(30)\n    time.sleep(30)\n", "out_of_memory", "memory"),
    ("a segmentation fault", "import faulthandler\ndef task_func():\n    faulthandler._sigsegv()\n", "crash", "crash"),
    ("an abort", "import os\ndef task_func():\n    os.abort()\n", "crash", "crash"),
    ("leaving at import", "import os\nos._exit(0)\n", "crash", "crash"),
    ("leaving in a test", "import os\ndef task_func():\n    os._exit(0)\n", "crash", "crash"),
    ("sys.exit at import", "import sys\nsys.exit(0)\n", "fail", "exception"),
    ("sys.exit in a test", "import sys\ndef task_func():\n    sys.exit(0)\n", "fail", "exception"),
    ("exit, which is None", "def task_func():\n    exit(0)\n", "fail", "exception"),
    ("killing itself", "import os\ndef task_func():\n    os.kill(os.getpid(), 9)\n", "crash", "crash"),
    ("a fork bomb", "import os\ndef task_func():\n    while True:\n        os.fork()\n", "fail", "exception"),
    ("endless threads", "import threading, time\ndef task_func():\n    while True:\n        threading.Thread(target=time.sleep, args=(99,)).start()\n", "fail", "exception"),
    ("filling the disk", "def task_func():\n    with open('x', 'wb') as f:\n        while True:\n            f.write(bytes(10**6))\n", "fail", "exception"),
    ("the network", "import socket\ndef task_func():\n    socket.create_connection(('192.0.2.1', 80), 1)\n", "fail", "exception"),
    ("reading standard input", "def task_func():\n    return input()\n", "fail", "exception"),
]  # fmt: skip


#: CPU time of programs that do not end, since they take all of it.
_ENDLESS_SECONDS = 1.0


@pytest.fixture(scope="module")
def verdicts(judge: Judge) -> dict[str, dict]:
    """Verdicts of all programs, by name."""

    def found(row: tuple[str, str, str, str]) -> dict:
        _, program, status, _ = row
        return judge(program, seconds=_ENDLESS_SECONDS) if status == "timeout" else judge(program)

    with ThreadPoolExecutor(6) as pool:
        return dict(zip([row[0] for row in PROGRAMS], pool.map(found, PROGRAMS), strict=True))


@pytest.mark.parametrize(("name", "status", "kind"), [(row[0], *row[2:]) for row in PROGRAMS])
def test_status_and_failure_kind(verdicts: dict[str, dict], name: str, status: str, kind: str) -> None:
    """What happens inside is reported with the right status and failure kind, within the limit of CPU time."""
    found = verdicts[name]
    assert (found["status"], found["failure_kind"]) == (status, kind), found


@pytest.mark.skipif(not find_cgroup_dir(), reason="only a control group's kernel kills by itself")
def test_waiting_for_a_child_that_the_kernel_killed_is_no_timeout(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child was there and gone between two checks, and who waits for it passes the time limit only because of it."""
    monkeypatch.setattr(observation, "_SECONDS_BETWEEN_CHECKS", 1.0)
    child = "import os, time\nif os.fork() == 0:\n    time.sleep(1.3)\n    x = bytearray(b'x') * (1 << 30)\ntime.sleep(30)\n"
    found = judge(child)
    assert (found["status"], found["exit"]) == ("out_of_memory", "killed: memory"), found


def test_every_test_is_reported_with_its_own_outcome(judge: Judge) -> None:
    """One failing test does not hide the others, and its traceback starts in the program."""
    found = judge("def task_func():\n    return 41\n")
    assert {test["name"]: test["outcome"] for test in found["tests"]} == {"test_answer": "fail", "test_nothing": "pass"}
    assert "AssertionError: 41 != 42" in found["tests"][0]["trace"]
    assert "harness" not in found["tests"][0]["trace"]
    assert (found["tests_expected"], found["tests_run"]) == (2, 2)


def test_a_test_that_hangs_is_the_one_missing(judge: Judge) -> None:
    """After a timeout one sees which tests had ended."""
    test = """import unittest
class TestCases(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): task_func()
    def test_c(self): pass
"""
    loop = "def task_func():\n    while True:\n        pass\n"
    found = judge(loop, test, expected=("test_a", "test_b", "test_c"), seconds=2)
    assert [test["outcome"] for test in found["tests"]] == ["pass", "missing", "missing"]
    assert found["exit"] in ("killed: wall time", "killed: cpu time")


def test_a_sample_can_end_at_its_first_failing_test(backend: LocalBackend) -> None:
    """The tests after it have no outcome, the failure kind is that test's, and who fails none passes as ever."""
    test = """import unittest
class TestCases(unittest.TestCase):
    def test_a(self): self.assertEqual(1, 1)
    def test_b(self): self.assertEqual(task_func(), 42)
    def test_c(self): import time; time.sleep(9999)
    def test_d(self): pass
"""
    expected = ("test_a", "test_b", "test_c", "test_d")
    quick = test.replace("import time; time.sleep(9999)", "pass")  # ends before anybody could kill it
    for text in (test, quick):
        found = judged(
            backend, replace(item("def task_func():\n    return 1\n", text, expected=expected), fail_fast=True)
        )
        assert (found["status"], found["failure_kind"], found["exit"]) == ("fail", "assertion", "killed: tests")
        assert [one["outcome"] for one in found["tests"]] == ["pass", "fail", "missing", "missing"]
    assert judged(backend, replace(item(RIGHT, quick, expected=expected), fail_fast=True))["tests_run"] == 4


def test_module_failures_carry_the_trace(judge: Judge) -> None:
    """A program that raises at import says so in module_trace, with the line of the program."""
    found = judge("x = 1\ny = x / 0\n")
    assert 'File "__test__.py", line 2' in found["module_trace"]
    assert "ZeroDivisionError" in found["module_trace"]


@pytest.mark.parametrize(("fixture", "kind"), [("setUpClass", "exception"), ("tearDownClass", "unusable_result")])
def test_a_class_whose_fixture_raises_does_not_pass(judge: Judge, fixture: str, kind: str) -> None:
    """It is a fail with the trace; the original counts an error of tearDownClass too."""
    test = f"""import unittest
class TestCases(unittest.TestCase):
    @classmethod
    def {fixture}(cls): raise RuntimeError("broken fixture")
    def test_a(self): pass
"""
    found = judge(RIGHT, test, expected=("test_a",))
    assert (found["status"], found["failure_kind"]) == ("fail", kind)
    assert "broken fixture" in found["module_trace"]


def test_subtests_count(judge: Judge) -> None:
    """A failing subtest fails its test."""
    test = """import unittest
class TestCases(unittest.TestCase):
    def test_a(self):
        for n in (42, 43):
            with self.subTest(n=n):
                self.assertEqual(task_func(), n)
"""
    found = judge(RIGHT, test, expected=("test_a",))
    assert found["tests"][0]["outcome"] == "fail"
    assert "43" in found["tests"][0]["trace"]


def test_output_keeps_its_tail(judge: Judge) -> None:
    """Gigabytes of output are drained, the end is kept, and the cut is marked."""
    program = "import sys\ndef task_func():\n    for i in range(100000):\n        print('x' * 100)\n    print('the end')\n    print('oops', file=sys.stderr)\n    return 42\n"
    found = judge(program)
    assert found["status"] == "pass"
    assert found["stdout"].endswith("the end\n")
    assert found["stdout_truncated"]
    assert len(found["stdout"]) <= 4096
    assert (found["stderr"], found["stderr_truncated"]) == ("oops\n", False)


def test_time_and_memory_are_measured(judge: Judge) -> None:
    """CPU seconds and peak memory are those of the program, not of the executor."""
    busy = judge(
        "import time\ndef task_func():\n    x = bytearray(150 << 20)\n    end = time.process_time() + 0.6\n    while time.process_time() < end:\n        pass\n    return 42\n"
    )
    idle = judge(RIGHT)
    assert busy["cpu_seconds"] > idle["cpu_seconds"] + 0.5
    assert busy["max_rss_mib"] > 150
    assert 5 < idle["max_rss_mib"] < 100
    assert idle["wall_seconds"] > 0
