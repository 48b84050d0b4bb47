"""What models wrote is shown and obeyed by nobody: terminals, Markdown, spreadsheets, file systems."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.display_text import csv_cell, markdown_block, markdown_text, visible
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.results.inspection import output as inspection
from bigcodeflow.results.inspection.samples import Filters, inspect_run
from tests.results.conftest import printed


def rows_and_details(run):
    with inspect_run(run) as opened:
        rows = opened.samples(Filters())
        return rows, opened.details(rows)


def export(run, folder, **filters):
    with inspect_run(run) as opened:
        return inspection.export_folder(opened, opened.samples(Filters(**filters)), folder)


@given(text=st.text())
def test_nothing_unseen_is_left(text):
    """Only line feeds and tabs remain of all control characters, and printable text stays as it is."""
    shown = visible(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert not text.isprintable() or shown == text


@given(text=st.text(alphabet=st.sampled_from("`a\n#~ ")))
def test_no_fence_ends_early(text):
    """The block's closing fence is the first line that could close it."""
    first, *inner, last = markdown_block(text).split("\n")
    assert first == last
    assert set(first) == {"`"}
    assert not any(line.strip().startswith(first) for line in inner)


@given(text=st.text())
def test_a_markdown_cell_stays_in_its_cell(text):
    """One line, in which every bar and angle bracket is escaped."""
    cell = markdown_text(text)
    assert "\n" not in cell
    assert not re.search(r"(?<!\\)(?:\\\\)*[|<`]", cell)


@pytest.mark.parametrize("text", ["=cmd()", "+1", "-1", "@x", "  =cmd()"])
def test_no_csv_cell_is_a_formula(text):
    """A spreadsheet takes the cell for text."""
    assert csv_cell(text)[0] == "'"


def test_a_hostile_answer_on_the_terminal(record, failures):
    """Neither the list nor the detail holds an escape character, and markup is shown as it was written."""
    rows, details = rows_and_details(record(failures))
    shown = printed(inspection.samples_table(rows)) + "".join(printed(inspection.render_detail(one)) for one in details)
    assert {"\x1b", "\x07"}.isdisjoint(shown)
    assert "\\x1b[2J" in shown
    assert "[red]bold[/red]" in shown


def test_a_run_fits_a_screen(record, failures):
    """A summary of the outcomes, and a line for each; raw verdicts that repeat the calibrated ones are left out."""
    rows, _ = rows_and_details(record(failures))
    shown = inspection.without_repeats(rows)
    assert [(row["task_id"], row["variant"]) for row in rows[:2]] == [("Demo/1", "calibrated"), ("Demo/1", "raw")]
    assert [row["task_id"] for row in shown] == ["Demo/1", "Demo/2", "Demo/3", "Demo/4"]
    assert [row[1] for row in inspection.outcomes_table(rows).rows] == [2, 1, 1, 1]
    lines = printed(inspection.samples_table(shown), width=80).splitlines()
    assert len(lines) == 4 + len(shown)
    assert {len(line) for line in lines} == {len(lines[0])}
    rows[1]["status"] = "timeout"
    assert len(inspection.without_repeats(rows)) == 5, "a raw verdict that differs stays"


def test_lists_in_three_formats(record, failures):
    """The same samples in each; JSON holds the texts as they are, and nothing that a terminal obeys."""
    rows, _ = rows_and_details(record(failures))
    as_json = inspection.samples_json(rows)
    assert "\x1b" not in as_json
    assert [row["task_id"] for row in json.loads(as_json)] == ["Demo/1", "Demo/1", "Demo/2", "Demo/3", "Demo/4"]
    cells = list(csv.DictReader(io.StringIO(inspection.samples_csv(rows))))
    kinds = [(row["failure_kind"], row["libs"]) for row in cells[2:4]]
    assert kinds == [("wrong_api", "numpy"), ("import", "pandas; numpy")]
    assert cells[2]["reason"] == "TypeError: =Needle()"
    table = inspection.samples_markdown(rows).splitlines()
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {8}
    assert "killed: wall time" in table[-1]


def test_stories_as_json_and_markdown(record, failures):
    """JSON holds every part with what was not measured as null; Markdown keeps the hostile text in its fence."""
    failures.rows["verdicts"][0]["wall_seconds"] = float("nan")
    _, details = rows_and_details(record(failures))
    parsed = json.loads(inspection.details_json(details))
    assert parsed[0]["verdict"]["wall_seconds"] is None
    assert parsed[3]["solution"].startswith("\x1b[2J")
    text = inspection.detail_markdown(details[3])
    assert "\x1b" not in text
    assert text.startswith("# Demo/3, sample 0, calibrated\n")
    assert "``````\n\\x1b[2J" in text


def test_both_verdicts_side_by_side(record, failures):
    """Statuses, times that were not measured, and each test's outcome, then and now, with the new traceback."""
    _, details = rows_and_details(record(failures))
    [was] = [row for row in failures.rows["verdicts"] if row["task_id"] == "Demo/2"]
    now = was | {"status": "pass", "tests": [was["tests"][0] | {"outcome": "pass", "trace": ""}]}
    shown = printed(inspection.render_reruns(details[2], was | {"wall_seconds": float("nan")}, now))
    assert re.search(r"status +│ fail +│ pass", shown)
    assert re.search(r"test_a +│ error +│ pass", shown)
    assert "not measured" in shown
    assert "Needle" not in shown
    assert "executed again: test_a: TypeError: =Needle()" in printed(inspection.render_reruns(details[2], now, was))


def test_a_task_in_quarantine_is_marked(record, failures):
    """List and detail say that the task's own solution does not always pass; other tasks are not suspected."""
    rows, details = rows_and_details(record(failures, quarantine=["Demo/2"]))
    assert {row["task_id"] for row in rows if row["quarantined"]} == {"Demo/2"}
    assert [detail.task_id for detail in details if "in quarantine" in inspection.detail_markdown(detail)] == ["Demo/2"]


class TestFolder:
    """The folder to take along."""

    def test_the_originals_layout(self, record, failures, tmp_path):
        """A folder a task with ground truth, tests, programs and traces; the lists beside them."""
        assert export(record(failures), tmp_path / "out", variants=("calibrated",)) == 4
        files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
        own = {"ground_truth.py", "test_case.py", "completion_0.py", "complete_0_execution_trace.txt"}
        lists = {"samples.json", "samples.csv", "samples.md"}
        assert files == lists | {f"Demo/{number}/{name}" for number in (1, 2, 3, 4) for name in own}
        trace = (tmp_path / "out" / "Demo" / "1" / "complete_0_execution_trace.txt").read_text()
        assert trace.startswith("Test Case: test_a\n\nTraceback")
        assert trace.endswith("AssertionError: 1 != 2\n" + "=" * 50 + "\n")
        assert (tmp_path / "out" / "Demo" / "2" / "completion_0.py").read_text().endswith("pass\nx = 1\ny = 2")

    def test_samples_that_passed_stand_beside_those_that_failed(self, record, tables, tmp_path):
        """A task's folder holds all of its samples; a task that always passed has none."""
        for task_id in ("Demo/1", "Demo/2"):
            tables.task(task_id)
            tables.sample(task_id, "pass")
        tables.sample("Demo/1", "crash", index=1, kind="crash", exit="signal 11")
        export(record(tables), tmp_path / "out")
        folder = tmp_path / "out" / "Demo"
        assert [path.name for path in folder.iterdir()] == ["1"]
        assert (folder / "1" / "complete_0_execution_trace.txt").read_text() == ""
        assert "crash (crash): signal 11" in (folder / "1" / "complete_1_execution_trace.txt").read_text()

    def test_variants_stand_apart(self, record, failures, tmp_path):
        """Two variants of one sample do not overwrite one another."""
        export(record(failures), tmp_path / "out", task="1")
        programs = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("completion*"))
        assert programs == ["calibrated-parity/Demo/1/completion_0.py", "raw-parity/Demo/1/completion_0.py"]

    @pytest.mark.parametrize("task_id", ["../../evil", "/etc/evil", "a/../../evil", "..", "a\x00b"])
    def test_no_task_id_leads_out_of_the_folder(self, record, tables, tmp_path, task_id):
        """Whatever a task file calls its tasks, the export stays where it belongs."""
        tables.task(task_id)
        tables.sample(task_id, "fail")
        export(record(tables), tmp_path / "in" / "out")
        assert len(list((tmp_path / "in" / "out").rglob("completion_0.py"))) == 1
        assert [path.name for path in (tmp_path / "in").iterdir()] == ["out"]

    def test_a_folder_in_use_is_left_alone(self, record, failures, tmp_path):
        """An export into another one would mix two runs: it is refused, and nothing is written."""
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "notes.txt").write_text("mine")
        with pytest.raises(ConfigError, match="is not an empty folder"):
            export(record(failures), tmp_path / "out")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]
