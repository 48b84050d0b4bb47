"""Where runs leave their results: a folder each, which no other run writes into."""

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.pipeline.outputs import in_own_folder, recorded_in
from bigcodeflow.pipeline.rescore import RescoreConfig
from bigcodeflow.results.runs import recorded_runs
from flows.benchmark import rescore
from flows.sweep import sweep
from tests.endtoend.conftest import write_samples
from tests.flows.observed import RunFlow, Settings, prefect, run_id
from tests.flows.test_sweep import sweep_in

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_client", "starter_environment")]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative folders lie in the test's own."""
    monkeypatch.chdir(tmp_path)


def folders(parent: str = "results/runs") -> list[str]:
    return sorted(path.name for path in Path(parent).iterdir())


def test_every_run_has_a_folder_of_its_own(settings: Settings, run_flow: RunFlow) -> None:
    """Two runs of one configuration, of which the second one is cached and shares the folder, and a rescore of it."""
    config = settings("out=''")
    first, _ = run_flow(config), run_flow(config)
    [name] = folders()
    assert "-oracle-full-complete-" in name
    assert {"metrics.parquet", "report.html", "run.json"} <= set(folders(f"results/runs/{name}"))
    assert name[-8:] == first.id.hex[-8:]
    assert recorded_in(f"results/runs/{name}") == recorded_runs(config.store)[-1].record
    assert Path("results/latest").resolve() == Path("results/runs", name).resolve()

    state = rescore(RescoreConfig(run="latest", store=config.store), return_state=True)
    assert state.is_completed(), state.message
    assert [name[-8:] for name in folders() if "-rescored-" in name] == [run_id(state).hex[-8:]]


@pytest.mark.slow
def test_the_logged_command_continues_a_failed_run(settings: Settings, run_flow: RunFlow) -> None:
    """The failed stage and later ones run, and nothing before them; each retry writes into the folder of its run."""
    Path("mine.jsonl").write_text("{\n")
    failed = run_flow(settings("out=''", "samples.source=mine.jsonl"))
    failed.assert_states(dataset=["Cached"], generation=["Failed"])
    assert not Path("results/runs").exists()
    remedy = next(message for message in failed.log("prefect flow-run retry") if "prefect flow-run retry" in message)
    program, *words = shlex.split(remedy.split("`")[-2])
    assert program == "prefect"
    write_samples(Path("mine.jsonl"))
    for retried in (True, False):
        prefect(*words, folder=Path.cwd())
        [name] = folders()
        assert name.endswith(failed.id.hex[-8:])
        if retried:
            again = {"dataset": ["Cached"] * 2, "generation": ["Failed", "Completed"], "ground_truth": ["Cached"]}
            failed.assert_states("Completed", **again)
    assert failed.client.read_flow_run(failed.id).state.is_completed()


@pytest.mark.slow
def test_a_folder_with_other_results_is_refused_before_work_starts(settings: Settings, run_flow: RunFlow) -> None:
    """Nothing in it is touched; the same run may replace its own, however many workers it has."""
    first = settings("out=mine")
    assert run_flow(first).state.is_completed()
    before = {path: path.read_bytes() for path in Path("mine").iterdir()}
    refused = run_flow(settings("out=mine", "aggregation.k=[1]", "name=another"))
    assert refused.state.is_failed()
    assert "mine holds the results of run" in refused.state.message
    assert "(different settings: aggregation.k, name)" in refused.state.message
    assert {path: path.read_bytes() for path in Path("mine").iterdir()} == before
    assert refused.task_runs() == []
    assert run_flow(settings("out=mine", "execution.workers=2")).state.is_completed()


@pytest.mark.slow
def test_a_run_that_was_stopped_while_it_wrote_goes_on(settings: Settings, run_flow: RunFlow) -> None:
    """Its folder holds some of its files, and says whose they are; only whole results count as recorded."""
    config = settings("out=mine")
    records = Path(config.store, "runs")
    records.rename(records.with_name("aside"))
    records.write_text("where the record is to go, there is a file")
    assert not run_flow(config).state.is_completed()
    assert Path("mine", "metrics.parquet").is_file()
    assert recorded_in("mine") == ""
    records.unlink()
    records.with_name("aside").rename(records)
    assert "mine holds the results of run run" in run_flow(settings("out=mine", "name=another")).state.message
    assert run_flow(config).state.is_completed()
    assert recorded_in("mine") == recorded_runs(config.store)[-1].record


@pytest.mark.parametrize("name", ["metrics.parquet", "report.html"])
def test_results_of_an_earlier_version_are_kept(tmp_path: Path, name: str) -> None:
    """They do not say whose they are, so they count as another run's; other files are no results."""
    config = RunConfig(out=str(tmp_path / "out"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert in_own_folder(config, datetime.now(UTC)) == config
    (tmp_path / "out" / name).write_bytes(b"x")
    with pytest.raises(ConfigError, match="a run that it does not name"):
        in_own_folder(config, datetime.now(UTC))
    with pytest.raises(ConfigError, match="is a file"):
        in_own_folder(RunConfig(out=str(tmp_path / "out" / name)), datetime.now(UTC))


@pytest.mark.slow
def test_a_sweep_has_a_folder_and_what_it_reuses_stays_where_it_is(tmp_path: Path) -> None:
    """The second sweep has a table of its own, which names the files of the first."""
    config = sweep_in(tmp_path, "oracle").model_copy(update={"out": ""})
    for _ in range(2):
        state = sweep(config, return_state=True)
        assert state.is_completed(), state.message
    first, second = folders("results/sweeps")
    tables = [json.loads(Path("results/sweeps", name, "sweep.json").read_text())["runs"] for name in (first, second)]
    assert [row["outcome"] for [row] in tables] == ["ran", "reused"]
    assert [row["out"] for [row] in tables] == [f"results/sweeps/{first}/oracle-complete-full"] * 2
    assert folders(f"results/sweeps/{second}") == ["sweep.json"]
