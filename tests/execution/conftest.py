"""Items, outcomes and backends for the tests of execution."""

import os
import site
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bigcodeflow.config import ExecutionConfig, LimitsConfig
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict
from tests.conftest import ROOT

LIMITS = LimitsConfig(time_seconds=4, memory_mib=300, processes=32, disk_mib=16, output_kib=4)
CONFIG = ExecutionConfig(workers=2, slots_per_worker=2, limits=LIMITS)
RIGHT = "def task_func():\n    return 42\n"
TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
    def test_nothing(self):
        self.assertTrue(True)
"""


def item(
    program: str,
    test: str = TEST,
    *,
    expected: tuple[str, ...] = ("test_answer", "test_nothing"),
    seconds: float = LIMITS.time_seconds,
) -> WorkItem:
    return WorkItem(
        verdict_key=f"{hash((program, test)):x}",
        program=program,
        test=test,
        expected_tests=expected,
        time_seconds=seconds,
        missing_imports=frozenset({"needed"}),
    )


def judged(backend: Backend, work: WorkItem) -> dict:
    """The verdict of one execution."""
    return verdict(work, backend.execute(work), backend="local", environment_sha="sha")


def row_of(schema: pa.Schema, **values: object) -> dict[str, Any]:
    """A row of a table, with nothing in the columns of which no value is given."""
    nothing = {"bool": False, "string": ""}
    columns = {one.name: [] if pa.types.is_list(one.type) else nothing.get(str(one.type), 0) for one in schema}
    return columns | values


def rows_of(schema: pa.Schema, *rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


def as_ordinary_user(user: int, script: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a script of this project as a user without any privilege, in the system's own interpreter.

    Root's caches are closed to other users; where that interpreter is of another version, or this checkout cannot be
    read, the test is skipped.
    """
    python, here = Path("/usr/bin/python3"), f"{sys.version_info.major}.{sys.version_info.minor}"
    asked = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    if not python.exists() or subprocess.check_output(asked, text=True).strip() != here:
        pytest.skip(f"the system's interpreter is no Python {here}, which the installed packages need")
    paths = [ROOT / "src", Path(site.getsitepackages()[0])]
    if not all(folder.stat().st_mode & 0o005 == 0o005 for path in paths for folder in (path, *path.parents)):
        pytest.skip("an ordinary user cannot read this checkout")
    return subprocess.run(
        ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", str(python), "-c", script, *arguments],
        input=text,
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def backend(starter_environment: InstalledEnvironment) -> LocalBackend:
    local = LocalBackend(starter_environment, LIMITS)
    local.check()
    return local


@pytest.fixture(scope="session")
def judge(backend: LocalBackend) -> Callable[..., dict]:
    """Executes a program in a real sandbox and judges it."""
    return lambda program, test=TEST, **options: judged(backend, item(program, test, **options))


@pytest.fixture(scope="session")
def workers(starter_environment: InstalledEnvironment) -> Iterator[Workers]:
    """Local workers under CONFIG, started by the first test that executes with them."""
    with Workers(CONFIG, starter_environment) as shared:
        yield shared
