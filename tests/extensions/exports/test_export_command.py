"""`bigcodeflow export` as a user meets it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bigcodeflow.cli.main import app
from bigcodeflow.core.errors import BigCodeFlowError, PublishingError
from bigcodeflow.results.runs import RecordedRun
from tests.extensions.leaderboard.conftest import Lab

Call = Callable[..., Any]


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the command in a folder whose store is the default one; a user's error is raised."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("BIGCODEFLOW_STORE", "MLFLOW_TRACKING_URI", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Any:
        done = CliRunner().invoke(app, ["export", *arguments])
        if isinstance(done.exception, BigCodeFlowError):
            raise done.exception
        return done

    return call


@pytest.mark.parametrize(("form", "count"), [("inspect", 1), ("every-eval-ever", 2)])
def test_files_are_written_below_the_folder_and_named(
    model_run: RecordedRun, tmp_path: Path, export: Call, form: str, count: int
) -> None:
    """Paths on standard output; run, and what is provisional, on standard error."""
    done = export(form, "latest", "--out", "logs")
    assert done.exit_code == 0, done.output
    paths = [tmp_path / line for line in done.stdout.splitlines()]
    assert len(paths) == count
    assert all(path.is_file() for path in paths)
    assert f"record {model_run.record}, calibrated" in done.stderr
    assert "1 of its samples were not judged" in done.stderr


def test_an_imported_run_is_said_to_be_one(imported_run: RecordedRun, export: Call) -> None:
    """So that nobody takes what is left out for a fault."""
    assert "what its result file does not state is left out" in export("inspect", "old").stderr


def test_a_dry_run_for_the_hub_prints_the_files(lab: Lab, export: Call) -> None:
    """Path and content on standard output, and what would happen on standard error."""
    lab.run(passing=74)
    done = export("hub", "latest", "--store", str(lab.store.root), "--allow", "tests")
    assert "# .eval_results/bigcodebench-hard-complete.yaml\n- dataset:" in done.stdout
    assert "nothing was sent: with --publish, a pull request to acme/nova-7b has these files" in done.stderr


@pytest.mark.parametrize("form", ["inspect", "every-eval-ever"])
@pytest.mark.usefixtures("model_run")
def test_a_folder_that_is_a_file_is_told_in_a_line(tmp_path: Path, export: Call, form: str) -> None:
    """With its name, and what to do."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(PublishingError, match=r"nothing can be written to .*taken.*: name another --out"):
        export(form, "latest", "--out", "taken")
