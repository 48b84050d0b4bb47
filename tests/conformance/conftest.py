"""Two hundred samples of every status, and the comparison of a backend's verdicts with the local backend's."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bigcodeflow.config import DatasetConfig, SamplesConfig, SanitizingConfig
from bigcodeflow.core.calibration import calibrate
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.generation import load_samples
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.admission import Admission
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem, work_item
from bigcodeflow.judge.verdicts import verdict
from bigcodeflow.sanitizing.samples import sanitize_samples
from tests.attacks.conftest import LIMITS, work
from tests.attacks.reading import Exhibit, read_honest
from tests.attacks.verdict.conftest import attacks

AssertSame = Callable[..., None]

SAMPLES = 200
LIMITS_OF_ALL = LIMITS
_SLOTS = 16
_HONEST = Path(__file__).parents[1] / "attacks" / "honest" / "programs"
_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
    def test_kind(self):
        self.assertIsInstance(task_func(), int)
"""
#: Attacks that end by chance: by the clock, a coin or the page cache, by a thread that races the tests, by a recursion whose
#: end lies as deep as the process began, and by a search of memory, which finds what happens to lie there.
_BY_CHANCE = {
    "t01_forged_report_from_memory",
    "t01_key_found_by_array",
    "t05_thread_waits_for_the_tests",
    "t06_memory_by_array",
    "t06_r_clock",
    "t06_r_coin",
    "t06_r_page_cache_tells_the_run",
    "t06_reads_its_own_memory",
    "t06_s_coin_for_equality",
    "t07_no_stack_for_the_report",
}
#: One program for each way to end, as it is written and as the judge has to name it.
_ENDS = {
    "pass": "def task_func():\n    return 42",
    "fail": "def task_func():\n    return 41",
    "fail by an exception": "def task_func():\n    raise KeyError('x')",
    "fail by a missing name": "def task_func():\n    return nobody",
    "fail by an import": "import nothing_of_that_name\ndef task_func():\n    return 42",
    "syntax_error": "def task_func(:\n    return 42",
    "timeout": "def task_func():\n    while True:\n        pass",
    "out_of_memory": "def task_func():\n    return len([bytearray(64 << 20) for _ in range(64)])",
    "crash": "import os\ndef task_func():\n    os._exit(3)",
    "crash by a signal": "import os, signal\ndef task_func():\n    os.kill(os.getpid(), signal.SIGSEGV)",
    "lone surrogate": "WORD = '\ud800'\ndef task_func():\n    return 42 if len(WORD) == 1 else 0",
    "much output": "def task_func():\n    print('x' * 200_000)\n    return 42",
}


class Judged(NamedTuple):
    """What every backend has to say the same of a sample."""

    name: str
    status: str
    failure_kind: str
    tests: tuple[tuple[str, str], ...]
    """Name and outcome of each; empty where it was tampered with, which ends at a moment of chance."""


def conformance_items() -> dict[str, WorkItem]:
    """The samples by name: ends of every kind, honest programs, attacks, and recorded answers of the starter set."""
    simple = Exhibit(_ENDS["pass"], _TEST)
    items = {f"end: {name}": work(program, simple) for name, program in _ENDS.items()}
    for path in sorted(_HONEST.glob("*.py"))[::3]:
        exhibit = read_honest(path)
        items[f"honest: {path.stem}"] = work(exhibit.program, exhibit)
    items |= _starter_items()
    # Those named t??_n_ are against the checks of passes, which no backend makes.
    decided = [attack for attack in attacks() if attack.name not in _BY_CHANCE and "_n_" not in attack.name]
    for attack in islice(_spread(decided), SAMPLES - len(items)):
        items[f"attack: {attack.name}"] = work(attack.program, attack.task)
    return items


def _spread(of: Sequence[Any]) -> list[Any]:
    """Every second first, so that each threat has its turn."""
    return [*of[::2], *of[1::2]]


def _starter_items() -> dict[str, WorkItem]:
    config = DatasetConfig()
    tasks = load_tasks(config, resolve(config))
    known = {task["task_id"] for task in tasks.to_pylist()}
    samples = load_samples(SamplesConfig(), tasks, known_task_ids=known, selection=False)
    solutions = sanitize_samples(samples, tasks, SanitizingConfig(), progress=lambda *_: None).to_pylist()
    by_id = {task["task_id"]: task for task in tasks.to_pylist()}
    items = {}
    for row in solutions:
        task = by_id[row["task_id"]]
        items[f"starter: {row['task_id']}"] = work_item(
            program=calibrate(task["code_prompt"], row["solution"]),
            task=task,
            missing_imports=frozenset(),
            environment_sha="sha",
            limits=LIMITS,
        )
    return items


def judged(backend: Backend, items: dict[str, WorkItem]) -> list[Judged]:
    """The verdicts of a backend, which is closed then, asked by as many threads as a worker has slots."""
    with closing(backend), ThreadPoolExecutor(_SLOTS) as pool:
        prepared = backend.prepare(list(items.values()))
        outcomes = list(pool.map(backend.execute, prepared))
    rows = [
        verdict(item, outcome, backend=backend.name, environment_sha="sha")
        for item, outcome in zip(prepared, outcomes, strict=True)
    ]
    return [judged_row(name, row) for name, row in zip(items, rows, strict=True)]


def judged_row(name: str, row: dict[str, Any]) -> Judged:
    """What has to be the same, from a verdict."""
    tests = tuple((test["name"], test["outcome"]) for test in row["tests"] if row["status"] != "tampered")
    return Judged(name, row["status"], row["failure_kind"], tests)


def require_same(mine: list[Judged], theirs: list[Judged]) -> None:
    differences = [f"{one} but here {other}" for one, other in zip(mine, theirs, strict=True) if one != other]
    assert not differences, "\n".join(differences[:10])


@pytest.fixture(scope="session")
def samples() -> dict[str, WorkItem]:
    return conformance_items()


@pytest.fixture(scope="session")
def local_verdicts(starter_environment: InstalledEnvironment, samples: dict[str, WorkItem]) -> list[Judged]:
    """The local backend's verdicts."""
    backend = LocalBackend(starter_environment, LIMITS_OF_ALL, warm=True, admission=Admission(2))
    backend.check()
    return judged(backend, samples)


@pytest.fixture(scope="session")
def assert_same(samples: dict[str, WorkItem], local_verdicts: list[Judged]) -> AssertSame:
    """Fails where a backend says anything else of a sample than the local one; closes it."""

    def compare(backend: Backend, *, warm: bool = True) -> None:
        assert backend.check().warm or not warm
        require_same(local_verdicts, judged(backend, samples))

    return compare
