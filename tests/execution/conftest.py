"""Items, outcomes and backends for the tests of execution."""

from collections.abc import Callable

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import verdict

LIMITS = LimitsConfig(time_seconds=4, memory_mib=300, processes=32, disk_mib=16, output_kib=4)
RIGHT = "def task_func():\n    return 42\n"
TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
    def test_nothing(self):
        self.assertTrue(True)
"""


def item(program: str, test: str = TEST, *, expected: tuple[str, ...] = ("test_answer", "test_nothing")) -> WorkItem:
    return WorkItem(
        verdict_key=f"{hash((program, test)):x}",
        program=program,
        test=test,
        expected_tests=expected,
        time_seconds=LIMITS.time_seconds,
        missing_imports=frozenset({"needed"}),
    )


@pytest.fixture(scope="session")
def backend(starter_environment: InstalledEnvironment) -> LocalBackend:
    local = LocalBackend(starter_environment, LIMITS)
    local.check()
    return local


@pytest.fixture(scope="session")
def judge(backend: LocalBackend) -> Callable[..., dict]:
    """Executes a program in a real sandbox and judges it."""

    def run(program: str, test: str = TEST, **options: object) -> dict:
        work = item(program, test, **options)
        return verdict(work, backend.execute(work), backend="local", environment_sha="sha")

    return run
