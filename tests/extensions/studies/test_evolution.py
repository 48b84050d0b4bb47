"""The study of newer libraries: labels, scores of recorded runs, outdated calls, and what people read of them."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import table_of
from bigcodeflow.core.settings import validated
from bigcodeflow.judge.environments import InstalledEnvironment, load_definition
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow_hosts.images import base_image_of
from bigcodeflow_studies.evolution import EvolutionConfig
from bigcodeflow_studies.evolution.schema import EVOLUTION
from bigcodeflow_studies.evolution.study import library_versions, run_study
from bigcodeflow_studies.evolution.tables import tables
from tests.conftest import Command
from tests.extensions.studies.conftest import own_task

Row = dict[str, Any]


def row(task: int, label: str, *, run: str = "", passed: tuple[int, int] = (1, 1), **given: Any) -> Row:
    empty = dict.fromkeys(
        ("record", "cause", "place", "library", "basis", "evidence", "status_before", "status_now"), ""
    )
    libraries = [{"library": "pandas", "before": "2.0.3", "now": "3.1.1"}]
    named = {"environment": "old", "current": "new", "libraries": libraries, "n_samples": 1, "outdated": []}
    counts = {"n_passed_before": passed[0], "n_passed_now": passed[1]}
    return {**empty, **named, **counts, "run": run, "task_id": f"T/{task}", "label": label, **given}


def shown(rows: Sequence[Row]) -> dict[str, list[list[str]]]:
    return {table.title: list(table.texts()) for table in tables(table_of(rows, EVOLUTION))}


def test_labels_are_counted_with_intervals() -> None:
    """Every label has a line, also one without tasks."""
    found = shown([row(number, "holds") for number in range(3)] + [row(3, "drifts", cause="API removed")])
    lines = found["Tasks under newer libraries"]
    assert [line[:3] for line in lines] == [
        ["holds", "3", "75.0 %"],
        ["drifts", "1", "25.0 %"],
        ["dead", "0", "0.0 %"],
        ["unjudgeable", "0", "0.0 %"],
    ]
    assert found["Causes"][0][:3] == ["drifts", "API removed", "1"]
    assert [line[0] for line in found["Tasks that do not hold"]] == ["T/3"]


def test_a_run_is_scored_on_tasks_that_hold_and_on_those_that_drifted() -> None:
    """The difference is that of the same tasks, with a paired interval."""
    rows = [row(number, "holds", run="m") for number in range(8)]
    rows += [row(8 + number, "drifts", run="m", passed=(1, 0)) for number in range(4)]
    lines = {line[1]: line for line in shown(rows)["Recorded runs in both environments"]}
    assert lines["all"][2:7] == ["12", "12", "100.0 %", "66.7 %", "-33.3"]
    assert lines["hold"][2:7] == ["8", "8", "100.0 %", "100.0 %", "+0.0"]
    assert lines["drifted"][2:7] == ["4", "4", "100.0 %", "0.0 %", "-100.0"]
    assert "dead" not in lines
    low, high = map(float, re.findall(r"[+-][\d.]+", lines["all"][7]))
    assert low < -33.3 < high


def test_outdated_calls_are_counted_by_name_with_examples() -> None:
    """Samples and tasks are counted apart: several samples of one task may make the same call."""
    call = {"name": "DataFrame.append", "library": "pandas", "kind": "name", "sample_index": 0, "evidence": "gone"}
    rows = [
        row(0, "holds", run="m", outdated=[call, call | {"sample_index": 1}]),
        row(1, "holds", run="m", outdated=[call]),
    ]
    assert shown(rows)["Outdated calls"] == [["m", "DataFrame.append", "pandas", "name", "3", "2", "T/0, T/1", "gone"]]


def test_a_library_is_blamed_for_the_tasks_that_use_it_and_held_responsible_for_its_own() -> None:
    """Tasks that cannot be judged count for no library."""
    numpy = [{"library": "numpy", "before": "1.21.2", "now": ""}]
    rows = [row(0, "holds"), row(1, "drifts", library="pandas"), row(2, "dead", library="pandas")]
    rows += [row(3, "unjudgeable", library="pandas"), row(4, "holds", libraries=numpy)]
    lines = shown(rows)["Drift by library"]
    assert [(*line[:7], line[8]) for line in lines] == [
        ("pandas", "2.0.3 → 3.1.1", "3", "1", "1", "1", "66.7 %", "2"),
        ("numpy", "1.21.2 → none", "1", "1", "0", "0", "0.0 %", "0"),
    ]


def test_a_run_is_named_once() -> None:
    with pytest.raises(ConfigError, match="names a run twice"):
        validated(EvolutionConfig, {"runs": ["a", "a"]}, "command line")


def test_the_newer_environment_has_what_the_older_has() -> None:
    """Both are made of the same requirements, but for a package that Python 3.13 has none of; images are made too."""
    older, newer = load_definition("bigcodebench"), load_definition("bigcodebench-current")
    folder = shipped("configs/environments")
    wanted, have = (set((folder / f"{name}.in").read_text().split()) for name in (older.name, newer.name))
    assert wanted - have == {"python-levenshtein-wheels"}
    assert have <= wanted
    assert newer.imports == older.imports
    assert "3.13" in base_image_of(newer)
    # Today's NLTK refuses files of another user: it finds its data in the home folder alone.
    assert not newer.variables
    assert "nltk_data" in newer.warm_up


@pytest.mark.sandbox
def test_versions_are_those_of_the_names_that_programs_import(starter_environment: InstalledEnvironment) -> None:
    """A distribution may be called otherwise than its package."""
    versions = library_versions(starter_environment)
    assert {"numpy", "pandas", "bs4", "yaml", "dateutil", "python"} <= set(versions)
    assert versions["yaml"][0].isdigit()


def write_lines(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


_HEAD = "import numpy as np\ndef task_func(value):\n"


def numpy_task(number: int, solution: str, expected: str) -> Row:
    test = f"import numpy as np\n        self.assertEqual(task_func(2), {expected})"
    return own_task(f"Own/{number}", _HEAD, "What it is.", f"return {solution}", test, libs="['numpy']")


_HOLDS, _DRIFTS = numpy_task(0, "int(np.sum([value]))", "2"), numpy_task(1, "np.float(value)", "2")
_DEAD, _CHANGED = numpy_task(2, "value", "np.int(2)"), numpy_task(3, "repr(np.float64(value))", "'2.0'")
_SAMPLES = [
    {"task_id": f"Own/{number}", "solution": f"{_HEAD}    return {result}\n"}
    for number, result in enumerate(("int(np.float(value))", "float(value)", "value", "'2.0'"))
]


def evaluated(bigcodeflow: Command, tasks: Path, samples: Path, environment: str, store: Path) -> None:
    """Record a run of the samples in an environment."""
    given = ["--samples", samples, "--dataset", tasks, "--environment", environment, "--store", store, "--workers", 1]
    settings = ["name=mine", "sanitizing.mode=none", "execution.integrity=off"]
    bigcodeflow("evaluate", *map(str, given), *(word for one in settings for word in ("--set", one)))


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_recorded_run_and_its_tasks_are_executed_in_both_environments(
    bigcodeflow: Command, starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """A reference that fails in both is no drift; the run's record stays; the same command executes nothing again."""
    tasks = write_lines(tmp_path / "tasks.jsonl", [_HOLDS, _DRIFTS])
    store = tmp_path / "store"
    evaluated(bigcodeflow, tasks, write_lines(tmp_path / "samples.jsonl", _SAMPLES[:2]), "starter", store)
    [record] = (store / "runs").glob("*.json")
    before = record.read_bytes()
    given = ["--run", "mine", "--dataset", tasks, "--environment", "starter", "--current", "starter", "--store", store]
    command = ["evolution", *map(str, given), "--workers", "1"]
    output = bigcodeflow(*command).stdout
    assert "Recorded runs in both environments" in output
    assert record.read_bytes() == before
    [result] = (store / "evolution").glob("*/part-0.parquet")
    rows = {(one["run"] != "", one["task_id"]): one for one in pq.read_table(result).to_pylist()}
    labels = {task_id: one["label"] for (of_run, task_id), one in rows.items() if not of_run}
    assert labels == {"Own/0": "holds", "Own/1": "unjudgeable"}
    assert rows[False, "Own/1"]["evidence"].startswith("AttributeError: module 'numpy' has no attribute 'float'")
    passed = {task_id: one["n_passed_now"] for (of_run, task_id), one in rows.items() if of_run}
    assert passed == {"Own/0": 0, "Own/1": 1}
    # What both environments lack, the model made up: it is no outdated call.
    assert all(one["outdated"] == [] for one in rows.values())
    executions = set((store / "execution").iterdir())
    assert bigcodeflow(*command).stdout == output
    assert set((store / "execution").iterdir()) == executions
    # A task with another test is another task, whatever it is called.
    write_lines(tasks, [_HOLDS | {"test": _DEAD["test"]}])
    refused = bigcodeflow(*command, check=False)
    assert refused.returncode == 1
    assert "answers none of the selected tasks" in refused.stderr


@pytest.mark.sandbox
def test_a_run_that_nobody_recorded_is_refused(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """Before anything is executed."""
    given = {"environment": "starter", "current": "starter", "store": str(tmp_path / "store")}
    with (
        progress_listener(quiet=True) as listener,
        pytest.raises(ArtifactError, match="no recorded run is called 'absent'"),
    ):
        run_study(EvolutionConfig(dataset="starter", runs=("absent",), **given), listener)


@pytest.mark.slow
@pytest.mark.sandbox
def test_tasks_are_labelled_in_newer_libraries(
    bigcodeflow: Command,
    bigcodebench_environment: InstalledEnvironment,
    starter_environment: InstalledEnvironment,
    tmp_path: Path,
) -> None:
    """With NumPy 1.21 before and 2 now: one task of each label, and a call of the model's that is gone."""
    tasks = write_lines(tmp_path / "tasks.jsonl", [_HOLDS, _DRIFTS, _DEAD, _CHANGED])
    store = tmp_path / "store"
    evaluated(bigcodeflow, tasks, write_lines(tmp_path / "samples.jsonl", _SAMPLES), "bigcodebench", store)
    config = EvolutionConfig(dataset=str(tasks), runs=("mine",), current="starter", workers=1, store=str(store))
    with progress_listener(quiet=True) as listener:
        ref = run_study(config, listener)
    rows = open_store(store).read(ref).to_pylist()
    labels = {one["task_id"]: (one["label"], one["cause"], one["library"]) for one in rows if not one["run"]}
    assert labels == {
        "Own/0": ("holds", "", ""),
        "Own/1": ("drifts", "API removed", "numpy"),
        "Own/2": ("dead", "API removed", "numpy"),
        "Own/3": ("drifts", "behaviour changed", "numpy"),
    }
    passed = {one["task_id"]: (one["n_passed_before"], one["n_passed_now"]) for one in rows if one["run"]}
    assert passed == {"Own/0": (1, 0), "Own/1": (1, 1), "Own/2": (1, 0), "Own/3": (1, 1)}
    outdated = {one["task_id"]: [call["name"] for call in one["outdated"]] for one in rows if one["outdated"]}
    assert outdated == {"Own/0": ["numpy.float"]}
