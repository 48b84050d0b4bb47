"""`bigcodeflow recommend` and the explorer's page, on a small store."""

import json
import re

import pytest
import typer
from typer.testing import CliRunner

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow_studies.recommend.commands import recommend
from tests.explorer.conftest import exploring
from tests.extensions.studies.recommend.conftest import record
from tests.report.conftest import RecordedStore


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Three models on forty tasks: 'good' fails a tenth, 'fair' a third, 'poor' passes every fourth; one has costs."""
    store = RecordedStore(tmp_path_factory.mktemp("store"))
    usage = {"cost_usd": 0.0125, "latency_seconds": 2.5}
    record(store, "good", "".join("0" if number % 10 == 7 else "1" for number in range(40)), usage=usage)
    record(store, "fair", "".join("0" if number % 3 == 1 else "1" for number in range(40)))
    record(store, "poor", "".join("1" if number % 4 == 2 else "0" for number in range(40)))
    return store


@pytest.fixture
def command(store, tmp_path, monkeypatch):
    """Calls the command; a user error is raised as the main command would show it."""
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    app = typer.Typer(add_completion=False)
    app.command()(recommend)

    def call(*arguments):
        done = CliRunner().invoke(app, [*map(str, arguments), "--store", str(store.root)])
        if isinstance(done.exception, BigCodeFlowError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def test_models_are_ranked_for_a_requirements_file(command, tmp_path):
    """The best first, with intervals, cost and time; libraries that no task uses are named."""
    (tmp_path / "requirements.txt").write_text("numpy==2.0\nscikit-learn\nfastapi\n", encoding="utf-16")
    shown = command("--requirements", "requirements.txt")
    assert "Models on 20 tasks that use numpy, sklearn" in shown
    assert "good has the highest pass rate on these tasks" in shown
    assert "No recorded task uses fastapi." in shown
    rows = [line for line in shown.splitlines() if re.search(r"good|fair|poor", line) and "%" in line and "│" in line]
    assert [re.search(r"good|fair|poor", row)[0] for row in rows] == ["good", "fair", "poor"]
    assert "0.0125" in rows[0]
    assert "2.5" in rows[0]
    assert "80.0 %" in rows[0]


@pytest.mark.slow
def test_json_has_everything(command):
    """Shares in 0..1, null for what is not recorded."""
    found = json.loads(command("--libraries", "Pandas, sklearn", "--json"))
    assert found == json.loads(command("--libraries", "Pandas sklearn", "--json"))
    assert found["libraries"] == {"pandas": 10, "sklearn": 10}
    assert (found["n_tasks"], found["split"]) == (20, "complete")
    first, second, _ = found["models"]
    assert (first["model"], first["rank"], first["cost_usd_per_task"]) == ("good", 1, 0.0125)
    assert second["cost_usd_per_task"] is None
    assert 0 <= first["ci_low"] < first["rate"] < first["ci_high"] <= 1
    assert sum(one["probability_best"] for one in found["models"]) == pytest.approx(1)


def test_programs_are_scanned(command, tmp_path):
    """What they import of the standard library counts, as tasks use it."""
    (tmp_path / "app.py").write_text("import json\nimport numpy as np\n")
    assert "use json, numpy" in command("--imports", tmp_path)


def test_mistakes_are_one_line(command, tmp_path):
    """Nothing named, nothing used, nothing there."""
    for arguments, says in (
        ((), "by --requirements, --imports or --libraries"),
        (("--libraries", "fastapi"), "no recorded task uses any library that it names"),
        (("--requirements", tmp_path / "gone.txt"), "cannot be read"),
        (("--requirements", "x" * 300), "is not a valid path"),
        (("--libraries", "numpy", "--split", "instruct"), "but full · instruct has none"),
    ):
        with pytest.raises(BigCodeFlowError) as raised:
            command(*arguments)
        assert says in str(raised.value)
        assert "\n" not in str(raised.value)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.mark.slow
def test_the_explorer_ranks_them_too(store):
    """The same numbers behind a form; the evidence is read once, and what is wrong stands beside the form."""
    with exploring(store) as explored:
        assert "Name the libraries that a project uses" in text_of(explored.get("/recommend"))
        page = text_of(explored.get("/recommend", libraries="numpy scikit-learn, fastapi"))
        for part in (
            "20 tasks of complete",
            "good has the highest",
            "No recorded task uses fastapi",
            "0.0125",
            "2.5 s",
        ):
            assert part in page, part
        memory = explored.catalog.version().memory
        kept = memory["recommend evidence", "", ""]
        explored.get("/recommend", libraries="pandas")
        assert memory["recommend evidence", "", ""] is kept
        nothing = text_of(explored.get("/recommend", libraries="<b>x"))
        assert "no recorded task uses any" in nothing
        assert "--libraries" not in nothing
        assert "but full · instruct has none" in text_of(
            explored.get("/recommend", libraries="numpy", split="instruct")
        )
        assert "neither complete nor instruct" in text_of(explored.get("/recommend", 422, split="both"))
        assert "neither full nor hard" in text_of(explored.get("/recommend", 422, subset="easy"))
        record_link = re.search(r'href="/runs/([^"]+)">good', explored.get("/recommend", libraries="numpy"))[1]
        explored.get(f"/runs/{record_link}")


def test_the_page_of_an_empty_store_says_what_is_missing(tmp_path):
    """Before the first run has ended there is no catalog."""
    with exploring(RecordedStore(tmp_path / "store"), build=False) as explored:
        assert "there is no catalog yet" in text_of(explored.get("/recommend", libraries="numpy"))
