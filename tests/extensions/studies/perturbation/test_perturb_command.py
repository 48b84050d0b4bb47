"""From tasks to the gap, with real sandboxes, and mistakes on the command line."""

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig, RunConfig, load_config
from bigcodeflow.datasets import validate_source
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.recording import perform_and_record
from bigcodeflow.results.runs import RecordedRun, recorded_run
from bigcodeflow.store import open_store
from bigcodeflow_studies.perturbation import PerturbationConfig
from bigcodeflow_studies.perturbation.comparing import compare_runs
from bigcodeflow_studies.perturbation.writing import make_variants, write_dataset
from tests.conftest import Command
from tests.extensions.studies.conftest import own_task

#: Its reference solution never passes, one cannot fail, and one is a good task.
TESTS = {"Own/0": "task_func(2), 9", "Own/1": "1, 1", "Own/2": "task_func(amount_paid=3), 6"}


DOCSTRING = """Double it.

    Returns:
    int: twice `amount_paid`

    Example:
    >>> task_func(1)
    2
    """
HEAD = "def task_func(amount_paid):\n"


def own_tasks(folder: Path) -> Path:
    tests = {task_id: f"self.assertEqual({compared})" for task_id, compared in TESTS.items()}
    rows = [own_task(one, HEAD, DOCSTRING, "return 2 * amount_paid", test) for one, test in tests.items()]
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judged(store: Path, dataset: Path, task_ids: Iterable[str], listener: Listener) -> RecordedRun:
    """A run of a model that has learnt the original program by heart, and gives it for every task."""
    samples = dataset.with_suffix(".samples.jsonl")
    learnt = "def task_func(amount_paid):\n    return 2 * amount_paid\n"
    samples.write_text("".join(json.dumps({"task_id": one, "solution": learnt}) + "\n" for one in task_ids))
    finished = perform_and_record(settings(store, dataset, str(samples)), listener)
    return recorded_run(finished.store, finished.outputs.record)


def settings(store: Path, dataset: Path, samples: str) -> RunConfig:
    given = {"dataset.source": str(dataset), "samples.source": samples, "sanitizing.mode": "none", "store": str(store)}
    given["out"] = str(store.with_name(dataset.stem))
    return load_config(None, (), {**given, "execution.workers": 1, "execution.integrity": "off"})


@pytest.mark.slow
def test_variants_that_hold_are_written_judged_and_compared(tmp_path: Path, starter_environment: object) -> None:
    """A reference that fails and a stub that passes leave no variant; a program that is known by heart loses."""
    tasks, store = own_tasks(tmp_path), tmp_path / "store"
    config = PerturbationConfig(run=settings(store, tasks, "oracle"), kinds=("function", "docstring+parameters"))
    with progress_listener(quiet=True) as listener:
        made = make_variants(config, listener)
        variants = write_dataset(made, str(tmp_path / "variants.parquet"))
        rows = pq.read_table(variants).to_pylist()
        ids = [row["task_id"] for row in rows]
        original = judged(store, tasks, TESTS, listener)
        perturbed = judged(store, variants, ids, listener)
    assert ids == ["Own/2~function.1", "Own/2~parameters+docstring.1"]
    assert {row["original_task_id"] for row in rows} == {"Own/2"}
    assert [row[2:] for row in made.table.rows] == [(3, 1, 1), (3, 1, 1)]
    assert not validate_source(DatasetConfig(source=str(variants)))
    found = {
        row["kind"]: row
        for row in open_store(store).read(compare_runs(open_store(store), original, perturbed)).to_pylist()
    }
    assert found["function"]["original_passed"] == 1
    assert found["function"]["perturbed_passed"] == 0
    assert found["parameters+docstring"]["failed_variants"] == ["Own/2~parameters+docstring.1"]


def test_a_mistake_is_told_before_anything_is_executed(bigcodeflow: Command, tmp_path: Path) -> None:
    """In one line."""
    done = bigcodeflow("perturb", "write", "--dataset", "starter", "--store", tmp_path, "--out", "x.csv", check=False)
    assert done.returncode == 1
    assert done.stderr == "error: x.csv: is neither Parquet nor JSONL: name a file that ends in .parquet or .jsonl\n"
