"""A recorded run of small real tables, with texts that a hostile model might write."""

import pytest

from bigcodeflow.results.runs import find_run
from bigcodeflow.store import open_store
from tests.results.conftest import publish_run

HOSTILE = "\x1b[2J\x1b]0;owned\x07[red]bold[/red] | <b>`````"


@pytest.fixture
def record(tmp_path):
    """Publishes the tables, records a run over them and opens it; artifacts can be left out."""

    def recorded(tables, *, answers=(), without=(), split="complete", quarantine=()):
        samples = [
            {"task_id": task_id, "sample_index": 0, "raw_text": text, "provider": "replay", "attempts": 1}
            for task_id, text in answers
        ]
        content = {"config": {"dataset": {"split": split}}, "quarantine": {"tasks": list(quarantine)}}
        store = open_store(tmp_path / "a store")
        publish_run(store, tables, "20261121T100000-mine", answers=samples, without=without, run="mine", **content)
        return find_run(store.root, "mine")

    return recorded


@pytest.fixture
def failures(tables):
    """Five tasks: an assertion, a wrong API, a hostile module, a timeout and a pass."""
    tables.task("Demo/1", libs=["pandas"], domains=["Computation"])
    tables.task("Demo/2", libs=["numpy"], domains=["Computation"], ground_truth="fail", kind="import")
    tables.task("Demo/3", libs=["pandas", "numpy"], domains=["General"])
    tables.task("Demo/4")
    tables.task("Demo/5")
    for row, text in zip(tables.rows["tasks"], ("one", "two", "three", "four", "five"), strict=True):
        row |= {"complete_prompt": f"def task_func(): # {text}\n", "canonical_solution": "    return 1\n"}
        row |= {"instruct_prompt": f"Write {text}.", "test": "import unittest\nclass TestCases: ..."}
    trace = 'Traceback (most recent call last):\n  File "__test__.py", line 4, in test_a\nAssertionError: 1 != 2\n'
    failed = {"name": "test_a", "outcome": "fail", "seconds": 0.1, "trace": trace}
    tables.sample("Demo/1", "fail", kind="assertion", tests=[failed], variants=("calibrated", "raw"))
    error = failed | {"outcome": "error", "trace": trace.replace("AssertionError: 1 != 2", "TypeError: =Needle()")}
    tables.sample("Demo/2", "fail", kind="wrong_api", tests=[error], solution="x = 1\ny = 2")
    tables.sample("Demo/3", "fail", kind="import", module_trace=HOSTILE, solution=HOSTILE)
    tables.sample("Demo/4", "timeout", kind="timeout", exit="killed: wall time")
    tables.sample("Demo/5", "pass")
    return tables
