"""Stages over a real store: what is reused, what is computed again, and what a kill leaves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.schemas import QUARANTINE
from bigcodeflow.execution.costs import sha256_of_test
from bigcodeflow.execution.quarantine import quarantine_path
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.recording import begin_run, record_run
from bigcodeflow.store import ArtifactRef, open_store
from tests.conftest import ROOT
from tests.doubles.listeners import RecordingListener

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("starter_environment")]
pytestmark += [pytest.mark.filterwarnings("default")]


def _config(folder: Path, **changes: object) -> RunConfig:
    own = {"store": str(folder / "store"), "out": str(folder / "out"), "dataset.ids": "0-3"}
    own |= {"samples.source": "oracle", "execution.workers": 1, "execution.limits.time_seconds": 20}
    return load_config(None, (), own | {path.replace("__", "."): value for path, value in changes.items()})


TASK = json.loads((ROOT / "data/starter/tasks.jsonl").read_text().splitlines()[0])
_WRONG = TASK["code_prompt"] + "\n    return None\n"


def _answered(folder: Path, *programs: str, **changes: object) -> RunConfig:
    """A run of the first starter task, answered by these programs."""
    lines = [json.dumps({"task_id": TASK["task_id"], "solution": program}) + "\n" for program in programs]
    (folder / "s.jsonl").write_text("".join(lines))
    own = {"dataset__ids": "0", "samples__source": str(folder / "s.jsonl"), "sanitizing__mode": "none"}
    return _config(folder, **own | changes)


def _perform(config: RunConfig) -> tuple[RunArtifacts, list[str]]:
    listener = RecordingListener()
    return perform_all(resolve(config), listener), listener.computed


@pytest.fixture(scope="module")
def first_run(
    tmp_path_factory: pytest.TempPathFactory, starter_environment: InstalledEnvironment
) -> tuple[Path, RunArtifacts]:
    """The folder of a store, and the first run in it: every stage is computed, and every ground truth executed."""
    folder = tmp_path_factory.mktemp("first")
    first, computed = _perform(_config(folder))
    assert computed[:3] + sorted(computed[3:5]) + computed[5:] == [
        *("dataset", "generation", "sanitizing", "execution", "ground truth", "aggregation")
    ]
    assert first.ground_truth.statistics["executed"] == 4
    return folder, first


@pytest.fixture
def first(first_run: tuple[Path, RunArtifacts], tmp_path: Path) -> RunArtifacts:
    """Artifacts of the first run, in a copy of its store."""
    folder, artifacts = first_run
    shutil.copytree(folder / "store", tmp_path / "store")
    return artifacts


def test_changes_recompute_what_depends_on_them_and_execute_what_is_new(first: RunArtifacts, tmp_path: Path) -> None:
    """One store through a user's day: the oracle's programs are the ground truths', and nothing is executed twice."""
    again, computed = _perform(_config(tmp_path, execution__workers=2))
    assert (again, computed) == (first, [])
    _, computed = _perform(_config(tmp_path, aggregation__k=[1]))
    assert computed == ["aggregation"]
    both, computed = _perform(_config(tmp_path, execution__variants=["calibrated", "raw"]))
    assert computed == ["execution", "aggregation"]
    assert both.execution.statistics["reused_verdicts"] >= first.execution.statistics["distinct_executions"]
    wider, computed = _perform(_config(tmp_path, dataset__ids="0-4"))
    assert wider.ground_truth.statistics["executed"] == 1
    assert wider.ground_truth.statistics["reused_verdicts"] == 4


@pytest.mark.usefixtures("first")
def test_equal_answers_are_executed_once(tmp_path: Path) -> None:
    """Three equal samples of a task are three rows and one execution."""
    done, _ = _perform(_answered(tmp_path, *[_WRONG] * 3, "x = 1"))
    assert done.execution.rows == 4
    assert done.execution.statistics["distinct_executions"] == 2
    assert done.execution.statistics["executed"] == 2


@pytest.mark.usefixtures("first")
def test_infra_errors_are_tried_again_and_the_score_follows(tmp_path: Path) -> None:
    """A run whose samples could not be judged is not final: the next one judges them, and computes the score anew."""
    config = _config(tmp_path, dataset__ids="0")
    judged, _ = _perform(config)
    store = open_store(config.store)
    table = store.read(judged.execution)
    broken = table.set_column(table.schema.get_field_index("status"), table.schema.field("status"), [["infra_error"]])
    manifest = json.loads((store.folder("execution", judged.execution.key) / "manifest.json").read_text())
    ref = store.publish(
        "execution", judged.execution.key, broken, settings=manifest["settings"], statistics={"infra_errors": 1}
    )
    assert ref.statistics == {"infra_errors": 1}
    repaired, computed = _perform(config)
    assert computed == ["execution"]
    assert repaired.execution.statistics["infra_errors"] == 0
    assert store.read(repaired.execution)["status"].to_pylist() == ["pass"]


@pytest.mark.usefixtures("first")
def test_a_blocked_sample_is_a_fail_that_says_why(tmp_path: Path) -> None:
    """With the policy 'block' a risky program does not run; without it, it does."""
    program = "import os\ndef task_func(*args):\n    os.system('true')\n"
    flagged, _ = _perform(_answered(tmp_path, program))
    blocked, _ = _perform(_answered(tmp_path, program, sanitizing__safety_policy="block"))
    store = open_store(tmp_path / "store")
    [row] = store.read(blocked.execution).to_pylist()
    assert (row["status"], row["failure_kind"], row["tests_run"]) == ("fail", "safety_policy", 0)
    assert "os.system" in row["module_trace"]
    assert store.read(flagged.execution)["failure_kind"].to_pylist() != ["safety_policy"]


def test_what_no_model_answered_is_not_executed_and_fails(tmp_path: Path) -> None:
    """A stub may pass a task's test; nothing that no model answered does, whatever stands in its place."""
    config = _answered(tmp_path)
    line = {"task_id": TASK["task_id"], "solution": TASK["complete_prompt"] + TASK["canonical_solution"]}
    lines = [json.dumps(line | {"finish_reason": reason}) + "\n" for reason in ("stop", "unanswerable")]
    (tmp_path / "s.jsonl").write_text("".join(lines))
    artifacts, _ = _perform(config)
    rows = open_store(tmp_path / "store").read(artifacts.execution).to_pylist()
    found = [(row["status"], row["failure_kind"], row["module_trace"]) for row in rows]
    assert found == [("pass", "", ""), ("fail", "unanswered", "no model answered")]


_SLOW_ANSWERS = 24


def _slow_run(folder: Path) -> "subprocess.Popen[bytes]":
    """The command over samples that each sleep a little, so that a kill finds it at work."""
    _answered(folder, *(f"import time\ntime.sleep(0.3)  # {number}\n{_WRONG}" for number in range(_SLOW_ANSWERS)))
    command = [str(Path(sys.executable).with_name("bigcodeflow")), "evaluate", "--samples", "s.jsonl"]
    command += ["--dataset", "starter", "--ids", "0", "--workers", "1", "--out", "out", "--store", "store"]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def _ledger_lines(folder: Path) -> list[dict]:
    with suppress(FileNotFoundError):  # it is published while we look
        files = folder.glob("store/execution/*.partial/*/*.jsonl")
        return [json.loads(line) for file in files for line in file.read_bytes().split(b"\n")[:-1]]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("finished_before", [3, 12])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, finished_before: int) -> None:
    """kill -9 of the command and everything below it: finished verdicts are kept, none is executed again."""
    process = _slow_run(tmp_path)
    deadline = time.monotonic() + 120
    while len(_ledger_lines(tmp_path)) < finished_before and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {line["verdict_key"]: line["wall_seconds"] for line in _ledger_lines(tmp_path)}
    assert finished_before <= len(kept) < _SLOW_ANSWERS
    assert _slow_run(tmp_path).wait() == 0
    store = open_store(tmp_path / "store")
    manifests = [json.loads(path.read_text()) for path in store.root.glob("execution/*/manifest.json")]
    samples = next(one["artifact"] for one in manifests if one["settings"]["of"] == "execution")
    assert samples["statistics"]["executed"] == _SLOW_ANSWERS
    assert samples["statistics"]["executed_twice"] == 0
    rows = store.read(ArtifactRef.model_validate(samples)).to_pylist()
    assert len({row["verdict_key"] for row in rows}) == _SLOW_ANSWERS
    # The very measurements of the first run are there: nothing finished was executed anew. The ledger of the ground
    # truth, whose verdict is not among the rows, may still have been open.
    seconds = {row["verdict_key"]: row["wall_seconds"] for row in rows}
    own = {key: value for key, value in kept.items() if key in seconds}
    assert len(own) >= finished_before - 1
    assert {key: seconds[key] for key in own} == own


@pytest.mark.slow
@pytest.mark.usefixtures("first")
def test_reruns_make_an_artifact_of_their_own(tmp_path: Path) -> None:
    """Asked for, they execute what did not pass again; whoever asks for none finds the artifact that was there before."""
    programs = (_WRONG, TASK["complete_prompt"] + TASK["canonical_solution"])
    plain, _ = _perform(_answered(tmp_path, *programs))
    rerun, computed = _perform(_answered(tmp_path, *programs, execution__reruns=2))
    assert computed == ["execution", "aggregation"]
    store = open_store(tmp_path / "store")
    verdicts = [(row["status"], row["flaky"], row["attempts"]) for row in store.read(rerun.execution).to_pylist()]
    assert verdicts == [("fail", False, 3), ("pass", None, 1)]
    assert rerun.execution.statistics["reused_verdicts"] == 1
    more, _ = _perform(_answered(tmp_path, *programs, execution__reruns=1))
    assert more.execution.statistics["executed"] == 0  # three executions that agree answer whoever asks for two
    again, computed = _perform(_answered(tmp_path, *programs))
    assert (again, computed) == (plain, [])
    assert [row["attempts"] for row in store.read(again.execution).to_pylist()] == [1, 1]


@pytest.mark.slow
def test_quarantine_is_part_of_the_score_and_of_nothing_before_it(
    first: RunArtifacts, tmp_path: Path, starter_environment: InstalledEnvironment
) -> None:
    """A task that failed its own test counts by default, beside a score without it; excluded, the record names it."""
    store = open_store(tmp_path / "store")
    task = store.read(first.dataset).to_pylist()[1]
    row = {"task_id": task["task_id"], "test_sha256": sha256_of_test(task), "harness_version": 1, "executions": 9}
    row |= {"passes": 8, "statuses": ["fail", "pass"], "reason": "unknown", "evidence": "AssertionError"}
    foreign = row | {"task_id": "Starter/2", "test_sha256": "another text"}
    path = quarantine_path(store, starter_environment.environment_sha)
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist([row, foreign], schema=QUARANTINE), path)
    scores = {}
    for mode in ("off", "flag", "exclude"):
        config = _config(tmp_path, execution__quarantine=mode).model_copy(update={"out": str(tmp_path / mode)})
        done, computed = _perform(config)
        assert computed == ["aggregation"]
        lines = [line for line in store.read(done.aggregation).to_pylist() if line["slice_kind"] == "all"]
        scores[mode] = {line["metric"]: line["n_tasks"] for line in lines if line["k"]}
        record_run(begin_run(config, resolve), done)
    assert scores["off"] == {"pass@k": 4, "pass@k_judgeable": 4}
    assert scores["flag"] == {"pass@k": 4, "pass@k_judgeable": 4, "pass@k_unquarantined": 3}
    assert scores["exclude"] == {"pass@k": 3, "pass@k_judgeable": 3, "pass@k_with_quarantined": 4}
    records = [json.loads(record.read_text()) for record in sorted(store.root.glob("runs/*.json"))]
    named = [record.get("quarantine") for record in records]
    assert named == [None, {"mode": "flag", "tasks": ["Starter/1"]}, {"mode": "exclude", "tasks": ["Starter/1"]}]


@pytest.mark.slow
def test_the_cheat_passes_nowhere(tmp_path: Path) -> None:
    """Each attack in turn, through the whole pipeline: no task lets one pass."""
    done, _ = _perform(_config(tmp_path, dataset__ids="0-12", samples__source="cheat"))
    verdicts = open_store(tmp_path / "store").read(done.execution).to_pylist()
    passing = [row["task_id"] for row in verdicts if row["status"] in ("pass", "infra_error")]
    assert (len(verdicts), passing) == (13, [])
    assert "tampered" in {row["status"] for row in verdicts}
