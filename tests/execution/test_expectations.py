"""What executions are expected to take: the store's past, then shipped facts, then a guess."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.schemas import SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.execution.costs import Cost, cost_of, fact_of, sha256_of_test
from bigcodeflow.execution.environment_check import vacuous_tests
from bigcodeflow.execution.planning import Planner, plan_ground_truths
from bigcodeflow.execution.verdict_index import VerdictIndex
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.store import open_store
from tests.conftest import ROOT

from .conftest import row_of, rows_of


def _verdict(status: str = "pass", wall_seconds: float = 3.0, max_rss_mib: float = 50.0, **more: object) -> dict:
    given = {"task_id": "Mine/0", "status": status, "wall_seconds": wall_seconds, "max_rss_mib": max_rss_mib}
    return row_of(VERDICTS, **given | more)


def test_the_past_tells_more_than_a_guess(tmp_path: Path, starter_environment: InstalledEnvironment) -> None:
    """Mean time and largest memory over the store's verdicts; a run's own ground truth outdoes them; limits tell nothing."""
    rows = [_verdict(), _verdict("fail", 5.0, 700.0), _verdict("timeout", 240.0, 1.0), _verdict("infra_error", 0.0)]
    store = open_store(tmp_path)
    store.publish("execution", "key", rows_of(VERDICTS, *rows), settings={})
    known = VerdictIndex(store).costs()
    tasks = rows_of(TASKS, row_of(TASKS, task_id="Mine/0", expected_tests=["test_a"]))
    for costs, seconds, memory_mib in (({}, 1.0, 200.0), (known, 4.0, 700.0)):
        [plan] = plan_ground_truths(tasks, config=ExecutionConfig(), environment=starter_environment, costs=costs)
        assert (plan.item.expected_seconds, plan.item.expected_memory_mib) == (seconds, memory_mib)
    assert cost_of(_verdict("pass", 9.0, 80.0)) == Cost(9.0, 80.0)
    assert cost_of(_verdict("timeout", 240.0)) is None


@pytest.mark.real_data
def test_shipped_facts_are_about_the_benchmarks_own_tests(reference_data: Path) -> None:
    """Each fact names the test text of the task that it is about; slow and large tasks are known on the first pass."""
    tasks = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet", columns=["task_id", "test"]).to_pylist()
    facts = {task["task_id"]: fact for task in tasks if (fact := fact_of(task))}
    lines = (ROOT / "data/bigcodebench/durations.csv").read_text().splitlines()[1:]
    assert set(facts) >= {line.partition(",")[0] for line in lines}
    assert facts["BigCodeBench/461"].seconds > 100
    assert facts["BigCodeBench/102"].memory_mib > 500
    assert max(fact.cpu_seconds for fact in facts.values()) < 240  # so the default limit is the original's everywhere
    assert fact_of({"task_id": "BigCodeBench/461", "test": "another"}) is None
    vacuous = {task["task_id"] for task in tasks if sha256_of_test(task) in vacuous_tests()}
    assert vacuous == {"BigCodeBench/59", "BigCodeBench/272"}


@pytest.mark.real_data
def test_equal_programs_have_equal_keys_whatever_was_measured(
    reference_data: Path, starter_environment: InstalledEnvironment
) -> None:
    """Oracle and ground truth are one execution, and a slow measurement makes no other; it only comes earlier."""
    rows = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet").to_pylist()
    row = next(row for row in rows if row["task_id"] == "BigCodeBench/461")
    names = ("task_id", "complete_prompt", "canonical_solution", "code_prompt", "test", "entry_point")
    tasks = rows_of(TASKS, row_of(TASKS, expected_tests=["test_a"], **{name: row[name] for name in names}))
    text = row["complete_prompt"] + row["canonical_solution"]
    solutions = rows_of(SOLUTIONS, row_of(SOLUTIONS, task_id=row["task_id"], sanitizer="none", solution=text))
    config = ExecutionConfig()
    [truth] = plan_ground_truths(tasks, config=config, environment=starter_environment)
    slow = rows_of(VERDICTS, _verdict("pass", 500.0, task_id=row["task_id"], cpu_seconds=400.0))
    [sample] = Planner(tasks, slow, config=config, environment=starter_environment).samples(solutions)
    assert truth.item.verdict_key == sample.item.verdict_key
    assert (truth.item.time_seconds, sample.item.time_seconds) == (241.0, 241.0)
    assert truth.item.expected_seconds > 100
    assert sample.item.expected_seconds == 500.0
