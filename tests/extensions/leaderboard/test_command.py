"""`bigcodeflow leaderboard`: what it prints, writes and exits with."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow_leaderboard.commands import app
from bigcodeflow_leaderboard.history import snapshot_paths
from tests.extensions.leaderboard.conftest import HARD


@pytest.fixture
def command(lab, tmp_path, monkeypatch):
    """Calls the command on the lab's store; a user error is raised as the main command would show it."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def call(*arguments, allow=True, exit_code=0):
        given = [*map(str, arguments), "--store", str(lab.store.root), *(["--allow", "tests"] if allow else [])]
        done = CliRunner().invoke(app, given)
        if isinstance(done.exception, BigCodeFlowError):
            raise done.exception
        assert done.exit_code == exit_code, done.output
        return done

    return call


def test_show_puts_ours_among_the_published(lab, command):
    """Rank, score and interval; ours is shown however far down it is."""
    lab.run("Qwen--Qwen2.5-Coder-7B-Instruct--main", passing=28)
    shown = command("show", "--subset", "hard", "--top", "3").stdout
    lines = shown.splitlines()
    [place] = [place for place, line in enumerate(lines) if "ours" in line]
    assert "18.9" in lines[place]
    assert "20.3" in lines[place]  # published for Qwen2.5-Coder-7B-Instruct on Hard, Complete
    assert "-1.4" in lines[place] + lines[place + 1]  # a narrow terminal wraps it
    assert "Hard, Complete: 148 tasks" in shown
    assert "published" not in command("show", "--subset", "hard", "--origin", "ours").stdout.split("ours", 1)[1]


@pytest.mark.slow
def test_write_makes_the_files_and_a_snapshot(lab, command, tmp_path):
    """Six files; the same again makes no second snapshot; a refused run is named and left out."""
    lab.run(passing=74)
    refused = lab.run("other--main", tasks=HARD[:3])
    first = command("write", "--out", "board")
    names = {f"leaderboard.{kind}" for kind in ("csv", "html", "json", "md")} | {"results.json", "results-hard.json"}
    assert {path.name for path in (tmp_path / "board").iterdir()} == names
    assert f"left out: run {refused}" in first.stderr
    assert "1 measured scores, 651 published scores" in first.stderr
    command("write", "--out", "board")
    assert len(snapshot_paths(lab.store.root)) == 1
    [ours] = [e for e in json.loads((tmp_path / "board" / "leaderboard.json").read_text())["entries"] if e["run"]]
    assert (ours["model"], ours["pass_at_1"]) == ("acme/nova-7b", 0.5)


def test_diff_fails_a_build_on_a_regression_only(lab, command):
    """Exit code 1 with --fail-on-regression and a drop beyond chance; the line says by how much."""
    lab.run(passing=100)
    command("write")
    lab.run(passing=98)
    quiet = command("diff", "--fail-on-regression")
    assert quiet.stdout.startswith("changed    acme/nova-7b")
    lab.run(passing=80)
    loud = command("diff", "--fail-on-regression", exit_code=1)
    assert loud.stdout.startswith(
        "regression acme/nova-7b · hard · complete (openai, temperature 0, 1 sample a task), ours:"
    )
    assert "67.6 → 54.1 (-13.5 points, paired 95 % interval" in loud.stdout
    command("diff")


@pytest.mark.slow
def test_diff_of_two_snapshots(lab, command):
    """Between recorded snapshots, whatever the runs say now."""
    lab.run(passing=100)
    command("write")
    lab.run("other--main", passing=50)
    command("write")
    lab.run("third--main", passing=50)
    done = command("diff", "previous", "latest")
    assert done.stdout.splitlines() == [
        "new        other · hard · complete (openai, temperature 0, 1 sample a task), ours: 33.8"
    ]
    assert command("diff", "latest", "latest").stdout == ""
    with pytest.raises(BigCodeFlowError, match="'yesterday' fits no snapshot"):
        command("diff", "yesterday")


@pytest.mark.slow
def test_publish_and_its_dry_run(lab, command, hub, monkeypatch):
    """The dry run names files, without a token; the real one writes and records them; then there is nothing to do."""
    lab.run(passing=74)
    with monkeypatch.context() as without:
        without.delenv("HF_TOKEN")
        planned = command("publish", "acme/board", "--dry-run").stdout
    assert hub.requests == []
    assert "would write leaderboard.json" in planned
    assert snapshot_paths(lab.store.root) == []
    done = command("publish", "acme/board")
    assert done.stdout.replace("wrote", "would write").splitlines()[:-1] == planned.splitlines()[:-1]
    assert len(snapshot_paths(lab.store.root)) == 1
    again = command("publish", "acme/board")
    assert (again.stdout, "nothing to do" in again.stderr) == ("", True)
    assert hub.token not in done.output + planned + again.output


def test_publish_needs_something_of_ours(lab, command, hub):
    """A repository of published figures alone would only be a copy."""
    lab.run(tasks=HARD[:3])
    with pytest.raises(BigCodeFlowError, match="no run that can be published"):
        command("publish", "acme/board")
    assert hub.summaries == []


def test_card_prints_yaml_alone(lab, command):
    """Standard output can be redirected into the model's repository; a refused run has no card."""
    lab.run(passing=74)
    [found] = yaml.safe_load(command("card", "latest").stdout)
    assert found["value"] == 50.0
    assert found["dataset"] == {"id": "bigcode/bigcodebench-hard", "task_id": "complete", "revision": "c" * 40}
    assert "model-index" in yaml.safe_load(command("card", "latest", "--format", "model-index").stdout)
    with pytest.raises(BigCodeFlowError, match="--allow tests"):
        command("card", "latest", allow=False)
