"""What the attack suites share: task texts, work made of them, and the sandboxes that judge it."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.calibration import stub_program
from bigcodeflow.datasets.test_ids import expected_test_ids
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.integrity.checks import Pass, applied, check_passes
from bigcodeflow.execution.integrity.contradictions import Contradictions, Reference
from bigcodeflow.execution.items import WorkItem, work_item
from bigcodeflow.execution.verdicts import verdict

LIMITS = LimitsConfig(time_seconds=20, memory_mib=700, processes=64, disk_mib=16, output_kib=16)
TASKS_FOLDER = Path(__file__).parent / "tasks"
_TESTS_BEGIN = "# --- tests ---\n"

_REFERENCE_BEGINS = "# --- reference ---\n"


class Exhibit(NamedTuple):
    """A program and the test text that it is judged by."""

    program: str
    test: str
    reference: str = ""
    """The task's own solution, where the program is another one."""


JudgeIn = Callable[[str, Exhibit], dict]
"""The verdict of a program as an answer to a task, its pass checked as the pipeline checks it."""


def read_exhibit(path: Path) -> Exhibit:
    """The parts of a file: a program, behind ``# --- tests ---`` the test text, and perhaps ``# --- reference ---``."""
    program, _, rest = path.read_text().partition(_TESTS_BEGIN)
    test, _, reference = rest.partition(_REFERENCE_BEGINS)
    return Exhibit(program, test, reference or program)


def work(program: str, task: Exhibit, test: str | None = None) -> WorkItem:
    """The execution of a program as an answer to a task, planned as the pipeline plans it."""
    row = _row(task) | ({"test": test} if test is not None else {})
    return work_item(program=program, task=row, missing_imports=frozenset(), environment_sha="sha", limits=LIMITS)


def _row(task: Exhibit) -> dict:
    return {
        "task_id": f"Attacks/{hashlib.sha256(task.test.encode()).hexdigest()[:8]}",
        "code_prompt": "",
        "complete_prompt": "",
        "instruct_prompt": "",
        "canonical_solution": task.reference,
        "test": task.test,
        "entry_point": "task_func",
        "libs": [],
        "expected_tests": expected_test_ids(task.test),
    }


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
    """Judges programs in real sandboxes."""
    return judge_of(attacked_backend)


def judge_of(backend: LocalBackend) -> JudgeIn:
    """Executes programs in a backend and judges them; may be called by several threads at once."""
    known = Contradictions(None, "sha")
    one_at_a_time = threading.Lock()

    verdicts: dict[str, dict] = {}

    def executed(items: Sequence[WorkItem]) -> dict[str, dict]:
        todo = [item for item in items if item.verdict_key not in verdicts]
        with ThreadPoolExecutor(4) as pool:
            outcomes = pool.map(backend.execute, todo)
        for item, outcome in zip(todo, outcomes, strict=True):
            verdicts[item.verdict_key] = verdict(item, outcome, backend="local", environment_sha="sha")
        return {item.verdict_key: verdicts[item.verdict_key] for item in items}

    def judged(program: str, task: Exhibit) -> dict:
        item = work(program, task)
        outcome = backend.execute(item)
        found = {item.verdict_key: verdict(item, outcome, backend="local", environment_sha="sha")}
        if found[item.verdict_key]["status"] == "pass":

            def item_of(other: str | None, test: str) -> WorkItem:
                return work(task.reference if other is None else other, task, test)

            reference = Reference(_row(task), item_of, stub_program("def task_func(*args, **kwargs):"))
            with one_at_a_time:
                findings = check_passes([Pass(item, reference)], known, executed)
            found = applied(found, findings)
        return found[item.verdict_key]

    return judged
