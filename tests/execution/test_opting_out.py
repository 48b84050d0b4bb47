"""No program takes itself out of its score: what the machine lacks is never learned from the program."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.schemas import SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.execution.evaluation import judge
from bigcodeflow.execution.planning import Planned, Planner, plan_ground_truths
from bigcodeflow.execution.verdict_index import VerdictIndex
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import Outcome
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import ANY_IMPORT, WorkItem
from bigcodeflow.judge.verdicts import renewed, verdict
from bigcodeflow.store import open_store

from .conftest import LIMITS, RIGHT, item, judged, row_of, rows_of

TEST = """import unittest
import csv
class TestCases(unittest.TestCase):
    def test_answer(self):
        import sqlite3
        self.assertEqual(task_func(), 42)
    def test_nothing(self):
        self.assertTrue(True)
"""
PROGRAMS = {
    "raises a missing module by name": "raise ModuleNotFoundError(name='csv')\n",
    "raises Python's own words": "raise ModuleNotFoundError(\"No module named 'csv'\", name='csv')\n",
    "raises it in a test": "def task_func():\n    raise ModuleNotFoundError(\"No module named 'csv'\", name='csv')\n",
    "mistypes a submodule": "import csv.nothing\n",
    "mistypes a submodule of a package": "from unittest.cor import x\n",
    "mistypes a name": "from csv import nothing\n",
    "hides a module": "import sys\nsys.modules['sqlite3'] = None\n" + RIGHT,
    "removes the path": "import sys\nsys.path.clear()\nsys.modules.pop('csv', None)\n" + RIGHT,
    "removes the finders": "import sys\nsys.meta_path.clear()\nsys.modules.pop('sqlite3', None)\n" + RIGHT,
    "refuses imports": "import sys\nclass Finder:\n    def find_spec(self, name, *_):\n"
    "        raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
    "sys.modules.pop('sqlite3', None)\nsys.meta_path.insert(0, Finder())\n" + RIGHT,
    "claims that data are missing": "def task_func():\n    raise LookupError('Resource punkt not found: nltk.download()')\n",
    "claims that there is no network": "import socket\ndef task_func():\n"
    "    raise socket.gaierror(-2, 'Name or service not known')\n",
    "claims a full disk": "def task_func():\n    raise OSError(28, 'No space left on device')\n",
    "claims a lost worker": "import sys\nprint('worker lost: not started', file=sys.stderr)\nraise SystemExit('worker lost')\n",
    "kills itself": "import os\nos.kill(os.getpid(), 9)\n",
    "kills its parents": "import os\nfor pid in (1, os.getppid()):\n    try:\n        os.kill(pid, 9)\n"
    "    except OSError:\n        pass\nos._exit(9)\n",
    "kills its group": "import os\nos.killpg(0, 9)\n",
    "kills all": "import os\nos.kill(-1, 9)\nos._exit(9)\n",
    "closes everything": "import os\nos.closerange(0, 4096)\n",
}  # fmt: skip


def _asked(program: str, missing: frozenset[str] = frozenset()) -> WorkItem:
    return replace(item(program, TEST), missing_imports=missing)


@pytest.mark.sandbox
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_that_a_program_does_is_the_machines_fault(backend: LocalBackend, program: str) -> None:
    """It failed, with a kind, although the test itself imports what is said to be missing."""
    found = judged(backend, _asked(program))
    assert found["status"] in ("fail", "crash", "tampered"), found
    assert found["failure_kind"] not in ("", "infrastructure")


@pytest.mark.sandbox
def test_a_bare_process_that_kills_itself_crashes(starter_environment: InstalledEnvironment) -> None:
    """Without a sandbox around it, the process that was killed is the program's own."""
    bare = LocalBackend(starter_environment, LIMITS, isolated=False)
    assert judged(bare, _asked("import os\nos.kill(os.getpid(), 9)\n"))["status"] == "crash"


_FRAMES = st.fixed_dictionaries(
    {
        "event": st.sampled_from(["test", "module_failed", "class_failed"]),
        "name": st.sampled_from(["test_answer", "test_nothing"]),
        "outcome": st.sampled_from(["fail", "error", "pass"]),
        "phase": st.sampled_from(["compile", "program", "test", "collect"]),
        "seconds": st.just(0.1),
        "exception": st.sampled_from(["ModuleNotFoundError ImportError Exception", "ImportError", "OSError", "Own"]),
        "trace": st.sampled_from(["No module named 'csv'", "*", "worker lost"]) | st.text(max_size=40),
    }
)


@given(st.lists(_FRAMES, max_size=4), st.sampled_from(["exit 0", "exit 1", "exit 137", "exit 139"]))
def test_no_report_is_the_machines_fault(frames: list[dict[str, Any]], end: str) -> None:
    """Whatever a program makes of its report, once it began to run its sandbox has to be lost for an infra_error."""
    begun = [{"event": "started"}, {"event": "imported"}, {"event": "loaded", "tests": ["test_answer", "test_nothing"]}]
    for last in ([], [{"event": "end"}]):
        outcome = Outcome(frames=[*begun, *frames, *last], exit=end)
        found = verdict(_asked(RIGHT), outcome, backend="local", environment_sha="sha")
        assert found["status"] != "infra_error"
        assert (found["failure_kind"] == "") == (found["status"] == "pass")


def _task(program: str) -> dict[str, Any]:
    own = {"task_id": "Mine/0", "test": TEST, "entry_point": "task_func", "code_prompt": "def task_func():"}
    return row_of(TASKS, expected_tests=["test_answer", "test_nothing"], complete_prompt=program, **own)


def _planned(
    programs: list[str], task: dict[str, Any], truth: dict[str, Any], environment: InstalledEnvironment
) -> list[Planned]:
    own = {"task_id": task["task_id"], "sanitizer": "none"}
    rows = [row_of(SOLUTIONS, sample_index=n, solution=text, **own) for n, text in enumerate(programs)]
    config = ExecutionConfig(variants=("raw",), limits=LIMITS)
    planner = Planner(rows_of(TASKS, task), rows_of(VERDICTS, truth), config=config, environment=environment)
    return planner.samples(rows_of(SOLUTIONS, *rows))


def _truth(task: dict[str, Any], environment: InstalledEnvironment, backend: LocalBackend) -> dict[str, Any]:
    config = ExecutionConfig(limits=LIMITS)
    [planned] = plan_ground_truths(rows_of(TASKS, task), config=config, environment=environment)
    assert planned.item.missing_imports == ANY_IMPORT
    owner = {"task_id": task["task_id"], "sample_index": 0, "variant": "calibrated", "sanitizer": "none"}
    return judged(backend, planned.item) | owner


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("truth_program", "programs"),
    [
        (
            "import nosuchlibrary, neitherthis\n" + RIGHT,
            {
                "import nosuchlibrary\n" + RIGHT: "infra_error",
                "import neitherthis\n" + RIGHT: "infra_error",
                "import nosuchlibrary.part\n" + RIGHT: "infra_error",
                "import csv.nothing\n" + RIGHT: "fail",
                "import thirdlibrary\n" + RIGHT: "fail",
                RIGHT: "pass",
            },
        ),
        # A library of another version lacks the name for both; one that only the solution wants is its own mistake.
        (
            RIGHT.replace("return", "from csv import gone\n    return"),
            {"from csv import gone\n": "infra_error", "from csv import other\n": "fail"},
        ),
    ],
)
def test_what_the_ground_truth_cannot_import_is_the_environments(
    starter_environment: InstalledEnvironment, backend: LocalBackend, truth_program: str, programs: dict[str, str]
) -> None:
    """The same import failing in a solution judges nothing; another one does, and so does working without the library."""
    task = _task(truth_program)
    truth = _truth(task, starter_environment, backend)
    assert (truth["status"], truth["failure_kind"]) == ("infra_error", "infrastructure")
    planned = _planned(list(programs), task, truth, starter_environment)
    assert [judged(backend, one.item)["status"] for one in planned] == list(programs.values())


@pytest.mark.sandbox
def test_a_ground_truth_that_passes_vouches_for_every_library(
    starter_environment: InstalledEnvironment, backend: LocalBackend
) -> None:
    """Then nothing of what the task imports is missing, whatever a solution says."""
    task = _task("import csv\n" + RIGHT)
    truth = _truth(task, starter_environment, backend)
    assert truth["status"] == "pass"
    planned = _planned(list(PROGRAMS.values()), task, truth, starter_environment)
    assert {one.item.missing_imports for one in planned} == {frozenset()}


def _stored(work: WorkItem, kind: str, error: str) -> dict[str, Any]:
    """A verdict of an earlier version, whose trace says more than its kind."""
    begun = [{"event": "started"}, {"event": "imported"}]
    failed = {"event": "module_failed", "phase": "program", "exception": "X"}
    trace = f'Traceback (most recent call last):\n  File "__test__.py", line 1, in <module>\n{error}\n'
    outcome = Outcome(frames=[*begun, failed | {"trace": trace}], exit="exit 0")
    return verdict(work, outcome, backend="local", environment_sha="sha") | {"status": "fail", "failure_kind": kind}


def test_stored_verdicts_are_reused_under_todays_names(
    starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """Nothing is executed again for a new name; a verdict without a traceback keeps its own."""
    truth = row_of(VERDICTS, task_id="Mine/0", status="pass", wall_seconds=1.0, max_rss_mib=1.0)
    programs = ["a", "b", "c"]
    planned = _planned(programs, _task(RIGHT), truth, starter_environment)
    rows = [
        _stored(planned[0].item, "wrong_api", "AttributeError: 'NoneType' object has no attribute 'group'"),
        _stored(planned[1].item, "missing_setup", "UnboundLocalError: local variable 'x' referenced before assignment"),
        _stored(planned[2].item, "assertion", "ours.OwnAssertion: no"),
    ]
    owner = {"task_id": "Mine/0", "sample_index": 0, "variant": "raw", "sanitizer": "none"}
    store, stored = open_store(tmp_path), rows_of(VERDICTS, *(row | owner for row in rows))
    store.publish("execution", "key", stored, settings={})
    table, counted = judge(
        [planned],
        config=ExecutionConfig(variants=("raw",), limits=LIMITS),
        environment=starter_environment,
        ledger_folder=tmp_path / "ledger",
        known=VerdictIndex(store).verdicts,
    )
    assert table["failure_kind"].to_pylist() == ["exception", "exception", "assertion"]
    assert table["status"].to_pylist() == ["fail"] * 3
    assert (counted["executed"], counted["reused_verdicts"]) == (0, 3)


@pytest.mark.parametrize(
    ("missing", "status"), [(frozenset(), "fail"), (frozenset({"pandas"}), "infra_error"), (ANY_IMPORT, "infra_error")]
)
def test_a_stored_import_failure_is_judged_by_todays_ground_truth(missing: frozenset[str], status: str) -> None:
    """So it is executed again where the environment turns out to lack the library."""
    work = _asked("import pandas\n", missing)
    assert renewed(_stored(work, "import", "ModuleNotFoundError: No module named 'pandas'"), work)["status"] == status
