import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from bigcodeflow.cli.compare import compare
from bigcodeflow.cli.store import report
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.table import Table
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.report.overview import Section


@pytest.fixture
def command():
    app = typer.Typer()
    app.command()(report)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_the_command_writes_one_file_and_names_it(one_run, command, tmp_path):
    """The path goes to standard output, address and size to standard error; folders are made."""
    out = tmp_path / "new" / "report.html"
    done = command("latest", "--store", one_run.root, "--out", out)
    assert done.exit_code == 0
    assert done.stdout == f"{out}\n"
    assert done.stderr.startswith(out.as_uri())
    assert " MB" in done.stderr
    assert out.read_bytes().startswith(b"<!doctype html>")
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]


def test_a_run_that_is_not_there_is_a_user_error(one_run, command, tmp_path):
    """The message says what there is; no file appears."""
    with pytest.raises(ArtifactError, match="no recorded run is called 'frist'; the store has first"):
        command("frist", "--store", one_run.root, "--out", tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_place_that_cannot_be_written_is_a_user_error(one_run, tmp_path):
    """A folder where the file should be is named, with what to do."""
    (tmp_path / "taken").mkdir()
    with pytest.raises(ArtifactError, match=r"taken: cannot be written .*--out"):
        write_report(select_runs(one_run.root, ["first"]), tmp_path / "taken")


@pytest.mark.slow
def test_open_hands_the_file_to_the_browser(one_run, tmp_path):
    """The browser that the system names is started with the file's address."""
    browser, asked = tmp_path / "browser", tmp_path / "asked"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{asked}"\n')
    browser.chmod(0o755)
    program = "import typer; from bigcodeflow.cli.store import report; typer.run(report)"
    out = tmp_path / "report.html"
    subprocess.run(
        [sys.executable, "-c", program, "first", "--store", one_run.root, "--out", out, "--open"],
        check=True,
        env=os.environ | {"BROWSER": str(browser)},
    )
    assert asked.read_text() == out.as_uri()


def test_the_file_keeps_the_bound_that_was_asked_for(recorded):
    """Texts give way until the file is no larger, and the result says so."""
    run = recorded.tables()
    for number in range(50):
        run.task(f"Demo/{number}")
        noise = "".join(f"{number * 7919 + n * 104729:x}" for n in range(3_000))
        run.sample(f"Demo/{number}", "fail", answer=noise)
    recorded.record(run)
    bound = 1_400_000  # 950,000 are the charting library
    cut = recorded.report("run", max_bytes=bound)
    assert cut.texts_were_cut
    assert cut.path.stat().st_size == cut.size_bytes <= bound


def test_compare_writes_the_same_page_about_its_own_comparison(recorded, tmp_path):
    """`compare --html` shows the variants and slices that it was asked for, with every sample of the runs."""
    run = recorded.tables()
    for number in range(6):
        run.task(f"Demo/{number}", domains=["Math"])
        run.sample(f"Demo/{number}", variants=("calibrated", "raw"))
    recorded.record(run, run="mine")
    app = typer.Typer()
    app.command()(compare)
    out = tmp_path / "comparison.html"
    asked = ["mine", "mine@raw", "--rounds", "100", "--by", "domain", "--html", out, "--store", recorded.root]
    done = CliRunner().invoke(app, [str(argument) for argument in asked], catch_exceptions=False)
    assert done.exit_code == 0
    assert f"wrote {out}" in done.stderr
    page = out.read_text()
    assert "some-model \\u00b7 calibrated vs some-model \\u00b7 raw" in page
    assert "domain: Math" in page


def test_further_sections_are_in_the_file(one_run, tmp_path):
    """A section of another part is shown beside the report's own."""
    section = Section("comparison", "A section of another part", "", Table.of(["pair"], [["a, b"]]))
    written = write_report(select_runs(one_run.root, ["first"]), tmp_path / "report.html", sections=[section])
    assert b"A section of another part" in written.path.read_bytes()


def test_runs_come_in_the_order_of_their_names_and_once(recorded):
    """A run that two names mean is in the report once, where it was named first."""
    first, second = (recorded.record_one(model=model, run=model) for model in ("a", "b"))
    found = select_runs(recorded.root, ["b", "a", second, "latest"])
    assert [run.recorded.record for run in found] == [second, first]


def test_a_pattern_takes_the_latest_run_of_every_name_that_fits(recorded):
    """A sweep's settings are found together; an older run of the same setting is left out."""
    recorded.record_one(run="sweep+t0.2")
    latest = recorded.record_one(run="sweep+t0.2")
    other = recorded.record_one(run="sweep+t0.8")
    recorded.record_one(run="another")
    assert {run.recorded.record for run in select_runs(recorded.root, ["sweep+*"])} == {latest, other}


@pytest.mark.parametrize("name", ["nothing", "no*"])
def test_a_name_without_a_run_is_one_clear_line(recorded, name):
    """The message names what was looked for and where."""
    recorded.record_one()
    with pytest.raises(ArtifactError, match=rf"no recorded run.* '{name.replace('*', '[*]')}'"):
        select_runs(recorded.root, [name])
