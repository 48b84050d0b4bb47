"""What is left to do for the runs of a sweep, shown before anything runs."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from bigcodeflow.cli.run import sweep as command
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.sweep_results import Plan, last_runs, plan_of
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel, members_of
from bigcodeflow.recording import perform_and_record
from tests.doubles.listeners import RecordingListener

pytestmark = pytest.mark.sandbox

ALL = ("dataset", "generation", "sanitizing", "ground truth", "execution", "aggregation")


def sweep_in(folder: Path, **common: object) -> SweepConfig:
    return SweepConfig(
        models=(SweepModel(answers="oracle"),),
        common={"dataset.ids": "0", "execution.workers": 1, "execution.variants": ["calibrated"]},
        overrides=common,
        store=str(folder / "store"),
        out=str(folder / "out"),
    )


def planned(sweep: SweepConfig) -> Plan:
    [member] = members_of(sweep)
    return plan_of(member, last_runs(sweep.store).get(member.name), Resolver())


@pytest.fixture(scope="module")
def finished(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of a sweep of one run."""
    folder = tmp_path_factory.mktemp("finished")
    sweep = sweep_in(folder)
    assert planned(sweep).missing == ALL
    assert planned(sweep).cause == "new"
    [member] = members_of(sweep)
    perform_and_record(member.config, RecordingListener())
    return folder


@pytest.mark.slow
def test_a_finished_run_has_nothing_left_to_do(finished: Path) -> None:
    """Every artifact is found, and the record that goes with them."""
    plan = planned(sweep_in(finished))
    assert plan.artifacts is not None
    assert plan.recorded
    assert (plan.missing, plan.cause, plan.problem) == ((), "", "")


@pytest.mark.parametrize(
    ("changed", "missing", "cause"),
    [
        ({"dataset.ids": "1"}, ALL, "other tasks"),
        ({"sanitizing.mode": "robust"}, ("sanitizing", "execution", "aggregation"), "another sanitizer"),
        (
            {"execution.limits.time_seconds": 9},
            ("ground truth", "execution", "aggregation"),
            "another environment or other limits",
        ),
        ({"execution.variants": ["raw"]}, ("execution", "aggregation"), "other variants or reruns"),
        ({"aggregation.k": [1]}, ("aggregation",), "other scores asked for"),
        ({"execution.workers": 2}, (), ""),
    ],
    ids=["tasks", "sanitizer", "limits", "variants", "k", "workers"],
)
def test_a_change_is_reported_with_the_stages_that_it_costs(
    finished: Path, changed: dict, missing: tuple[str, ...], cause: str
) -> None:
    """Exactly the stages that a change concerns are to be done, and the plan says what changed."""
    plan = planned(sweep_in(finished, **changed))
    assert (plan.missing, plan.cause) == (missing, cause)


def test_a_lost_artifact_is_reported(finished: Path, tmp_path: Path) -> None:
    """The stage whose artifact is gone is to be done again, with the reason."""
    shutil.copytree(finished / "store", tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "sanitizing")
    plan = planned(sweep_in(tmp_path))
    assert plan.missing == ("sanitizing",)
    assert plan.cause == "artifacts gone, or samples left unjudged"


def test_a_cached_sweep_needs_no_server(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command shows the results of what is in the store at once, and writes its table and files again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    shutil.copytree(finished / "store", tmp_path / "store")
    file = tmp_path / "mine.yaml"
    sweep = sweep_in(tmp_path)
    file.write_text(yaml.safe_dump({"models": [{"answers": "oracle"}], "common": dict(sweep.common), "name": "mine"}))
    command(file=str(file), out=str(tmp_path / "out"), store=str(tmp_path / "store"))
    output = capsys.readouterr()
    assert "nothing to run" in output.err
    assert "100.0 %" in output.out
    assert "all reused" in " ".join(output.out.split())
    [row] = json.loads((tmp_path / "out" / "sweep.json").read_text())["runs"]
    assert (row["outcome"], row["pass_at_1"], row["n_tasks"]) == ("reused", 1.0, 1)
    assert (tmp_path / "out" / "oracle-complete-full" / "metrics.parquet").is_file()


def test_what_cannot_be_planned_is_a_problem_and_no_error(tmp_path: Path) -> None:
    """An absent sample file keeps one run from being planned, not the sweep."""
    sweep = SweepConfig(models=(SweepModel(answers=str(tmp_path / "absent.jsonl")),), store=str(tmp_path / "store"))
    plan = planned(sweep)
    assert plan.artifacts is None
    assert "absent.jsonl: cannot be opened" in plan.problem
