"""What the attack suites share: task texts, work made of them, and the sandboxes that judge it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.datasets.test_ids import expected_test_ids
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem, work_item
from bigcodeflow.execution.verdicts import verdict

LIMITS = LimitsConfig(time_seconds=20, memory_mib=700, processes=64, disk_mib=16, output_kib=16)
TASKS_FOLDER = Path(__file__).parent / "tasks"
_TESTS_BEGIN = "# --- tests ---\n"

JudgeIn = Callable[[WorkItem], dict]


class Exhibit(NamedTuple):
    """A program and the test text that it is judged by."""

    program: str
    test: str


def read_exhibit(path: Path) -> Exhibit:
    """Both parts of a file that holds a program, a line ``# --- tests ---`` and the test text."""
    program, _, test = path.read_text().partition(_TESTS_BEGIN)
    return Exhibit(program, test)


def work(program: str, task: Exhibit) -> WorkItem:
    """The execution of a program as an answer to a task, planned as the pipeline plans it."""
    row = {
        "task_id": "Attacks/0",
        "code_prompt": "",
        "complete_prompt": "",
        "instruct_prompt": "",
        "canonical_solution": task.program,
        "test": task.test,
        "entry_point": "task_func",
        "libs": [],
        "expected_tests": expected_test_ids(task.test),
    }
    return work_item(program=program, task=row, missing_imports=frozenset(), environment_sha="sha", limits=LIMITS)


@pytest.fixture(
    scope="session", params=[pytest.param(False, marks=pytest.mark.slow, id="cold"), pytest.param(True, id="warm")]
)
def attacked_backend(
    request: pytest.FixtureRequest, starter_environment: InstalledEnvironment
) -> Iterator[LocalBackend]:
    """Each kind of sandbox that a sample may run in."""
    backend = LocalBackend(starter_environment, LIMITS, warm=request.param)
    if backend.check().warm != request.param:
        pytest.skip("sandboxes cannot be forked warm on this machine")
    yield backend
    backend.close()


@pytest.fixture(scope="session")
def judge_in(attacked_backend: LocalBackend) -> JudgeIn:
    """Executes work in a real sandbox and judges it; may be called by several threads at once."""

    def run(item: WorkItem) -> dict:
        return verdict(item, attacked_backend.execute(item), backend=attacked_backend.name, environment_sha="sha")

    return run
