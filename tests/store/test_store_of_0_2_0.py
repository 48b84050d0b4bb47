"""A store that version 0.2.0 wrote: two runs of three tasks, whose sample files are beside it."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bigcodeflow as bcf
from bigcodeflow.cli.main import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("older")
    shutil.unpack_archive(Path(__file__).with_name("store-0.2.0.tar.gz"), folder)
    return folder


def _said(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_its_runs_are_read_and_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert bcf.read_results("strong", "store").verdicts["status"].to_list() == ["pass"] * 3
    compared = _said("compare", "strong", "weak", "--store", "store")
    assert "on 3 common tasks" in compared
    assert "+100.0" in compared
    assert "2 of 2 runs" in _said("runs", "--store", "store")  # that version made no catalog


@pytest.mark.sandbox
@pytest.mark.usefixtures("starter_environment")
def test_a_run_goes_on_in_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages whose content is the same are reused; the new run and the old ones are compared."""
    monkeypatch.chdir(folder)
    options = {"store": "store", "name": "again", "samples.source": "weak.jsonl", "dataset.ids": "0-2"}
    again = bcf.run(bcf.load_config("starter", options=options | {"execution.variants": ["calibrated"]}))
    before = bcf.read_results("weak", "store")
    columns = ["task_id", "status", "failure_kind"]
    assert again.verdicts.select(columns).equals(before.verdicts.select(columns))
    compared = _said("compare", "strong", "again", "--store", "store")
    assert "on 3 common tasks" in compared
    assert "+100.0" in compared
