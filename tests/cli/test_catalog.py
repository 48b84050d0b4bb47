"""`bigcodeflow catalog` as a user meets it: where the database is, what it shows, and what it misses."""

import json
from pathlib import Path

import pytest

from bigcodeflow.cli.store import catalog
from bigcodeflow.core.errors import ArtifactError


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one run, all of whose verdicts are gone."""
    times = {"started_at": "2026-11-21T09:00:00Z", "finished_at": "2026-11-21T09:30:00Z"}
    (tmp_path / "runs").mkdir()
    content = {"run": "first", **times, "config": {}, "artifacts": {"execution": "e" * 64}}
    (tmp_path / "runs" / "first-20261121.json").write_text(json.dumps(content))
    return tmp_path


def test_views_and_what_is_left_out_are_listed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The path comes first, on a line of its own; runs that are missing are notices."""
    catalog(view="", store=str(store))
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert lines[0] == str(store / "results.duckdb")
    assert Path(lines[0]).is_file()
    assert any("pass_at_k" in line and "one row a recorded run" in line for line in lines)
    assert f"left out: run first-20261121: its execution artifact {'e' * 64} is gone" in output.err


def test_one_view_is_explained(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its columns with types and meanings; for one that is not there, the message lists the views."""
    catalog(view="solve_rate", store=str(store))
    output = " ".join(capsys.readouterr().out.split())
    assert "solve_rate │ DOUBLE" in output
    assert "n_passed / n_judged" in output
    with pytest.raises(ArtifactError, match="has no view 'pass': name one of runs, pass_at_k, metrics"):
        catalog(view="pass", store=str(store))


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A mistyped path is named, and no empty folder is left behind."""
    with pytest.raises(ArtifactError, match=r"nowhere: there is no store: .*--store"):
        catalog(view="", store=str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()
