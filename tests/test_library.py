"""``import bigcodeflow as bcf``: what its functions return, what they refuse, and that its examples run."""

import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from rlcompleter import Completer

import polars as pl
import pytest

import bigcodeflow as bcf
from bigcodeflow import api
from bigcodeflow.core import schemas
from tests.conftest import ROOT


@pytest.mark.sandbox
@pytest.mark.slow
def test_examples_run_as_scripts(tmp_path: Path, starter_environment: object) -> None:
    """Both pages' examples, pasted into one file without a guard for worker processes, print score and interval."""
    pages = [_examples(ROOT / page) for page in ("README.md", "docs/library.md")]
    assert all(page.startswith("import bigcodeflow as bcf\n") for page in pages)
    program = "\n".join(pages)
    assert program.count('"dataset.ids": "0-4"') == len(pages)
    (tmp_path / "example.py").write_text(program.replace('"dataset.ids": "0-4"', '"dataset.ids": "0-1"'))
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ci_low") == 2


def _examples(page: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))


def config_in(folder: Path) -> bcf.RunConfig:
    options = {
        "store": str(folder / "results" / "store"),
        "dataset.ids": "0-1",
        "samples.source": "oracle",
        "execution.variants": ["calibrated"],
    }
    return bcf.load_config("starter", options=options)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> bcf.RunConfig:
    """Runs in a store that tests share, so that verdicts are known after the first."""
    return config_in(tmp_path_factory.mktemp("library"))


def test_the_package_offers_what_the_api_lists() -> None:
    """Names come on first use, and nothing heavy with the package itself."""
    assert set(bcf.__all__) == {*api.__all__, "__version__"}
    assert all(getattr(bcf, name) is getattr(api, name) for name in api.__all__)
    loaded = "import bigcodeflow, sys; print({'polars', 'pyarrow', 'dask', 'bigcodeflow.api'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True) == "set()\n"
    with pytest.raises(AttributeError, match="no attribute 'evaluate_all'"):
        bcf.evaluate_all  # noqa: B018
    assert (Path(bcf.__file__).parent / "py.typed").is_file()


@pytest.mark.sandbox
def test_each_function_returns_the_table_of_its_stage(
    tmp_path: Path, starter_environment: object, capfd: pytest.CaptureFixture[str]
) -> None:
    config = config_in(tmp_path)  # a store in which nothing is there yet
    tables = {
        "TASKS": bcf.load_tasks(config),
        "SAMPLES": bcf.generate(config),
        "SOLUTIONS": bcf.sanitize(config),
        "VERDICTS": bcf.evaluate(config),
        "METRICS": bcf.aggregate(config),
    }
    for name, table in tables.items():
        assert table.columns == getattr(schemas, name).names
    assert tables["VERDICTS"]["status"].to_list() == ["pass", "pass"]
    progress = capfd.readouterr().err
    assert "execution: 2 rows" in progress
    assert progress.count("dataset: 2 rows (from cache)") == len(tables) - 1

    results = bcf.run(config.model_copy(update={"out": f"{config.store}/../out"}), progress=False)
    assert not capfd.readouterr().err
    again = bcf.read_results(store=config.store)
    assert repr(again).startswith("RunResults(oracle · full · complete · 2 of 45 tasks: calibrated pass@1 100.0 % (")
    assert "2 of 45 tasks" in again._repr_html_()
    assert again.scores["n_tasks"].to_list() == [2]
    assert again.recorded.record == results.recorded.record
    assert again.metrics.equals(tables["METRICS"])
    named = (again.tasks, again.samples, again.solutions, again.ground_truths, again.verdicts)
    assert [table.height for table in named] == [2, 2, 2, 2, 2]
    assert list(Path(f"{config.store}/../out").glob("*_pass_at_k.json"))


@pytest.mark.sandbox
def test_samples_of_the_caller_are_judged(config: bcf.RunConfig, starter_environment: object) -> None:
    """Rows and frames alike, and generators, which can be read once only."""
    tasks = bcf.load_tasks(config, progress=False)
    stubs = tasks.select("task_id", solution=pl.col("complete_prompt") + "    pass\n", seed=pl.lit(None))
    assert bcf.evaluate(config, stubs, progress=False)["status"].to_list() == ["fail", "fail"]
    assert bcf.evaluate(config, iter(stubs.to_dicts()), progress=False)["status"].to_list() == ["fail", "fail"]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ("answers.jsonl", "answers.jsonl: cannot be opened"),
        (["answers.jsonl"], "samples, row 1: is a str: give a file's path"),
        (5, "samples: is a int: give a file's path"),
        ([{"task_id": "Starter/0", "solution": b""}], "row 1: has a value that JSON cannot hold"),
        ([{"task_id": "Starter/0", "solution": ""}, {"solution": ""}], "samples, row 2: has no task_id"),
        ([], "is empty"),
    ],
)
def test_samples_that_are_none_are_refused(tmp_path: Path, samples: object, message: str) -> None:
    with pytest.raises(bcf.BigCodeFlowError, match=message):
        bcf.sanitize(config_in(tmp_path), samples, progress=False)


def test_arguments_are_named_and_paths_are_taken(tmp_path: Path) -> None:
    """A preset's name stands for its settings, and a path for its text."""
    with pytest.raises(bcf.BigCodeFlowError, match=r"^config: is a dict: give what load_config returns"):
        bcf.run({})
    for given, message in [
        ({"options": {"generation.n_samples": 0}}, r"options: generation\.n_samples"),
        ({"options": ["dataset.ids=0"]}, "options: is a list"),
        ({"overrides": {"dataset.ids": "0"}}, "overrides: must not be a dict"),
        ({"overrides": "dataset.ids"}, "overrides: 'dataset.ids' is not of the form"),
        ({"overrides": 3}, "overrides: is a int"),
        ({"options": {3: 3}}, "overrides, options: is a int"),
    ]:
        with pytest.raises(bcf.BigCodeFlowError, match=f"^{message}"):
            bcf.load_config("starter", **given)
    config = bcf.load_config("starter", "dataset.ids=0-1", {"store": tmp_path / "store"})
    assert (config.store, config.dataset.ids) == (str(tmp_path / "store"), "0-1")
    assert bcf.load_tasks("starter", progress=False).height == 45


def test_what_a_prompt_shows_is_short() -> None:
    """Tab completion offers what there is, and a configuration shows what differs from the defaults."""
    assert dir(bcf) == sorted(bcf.__all__)
    config = bcf.load_config(options={"dataset.ids": "0-1"})
    assert repr(config) == "RunConfig(dataset=DatasetConfig(ids='0-1'))"
    assert repr(config.generation) == "GenerationConfig()"
    assert [name for name in dir(config.dataset) if name.startswith("li")] == ["libraries", "limit"]


@pytest.mark.sandbox
def test_completion_at_a_prompt_reads_no_table(config: bcf.RunConfig, starter_environment: object) -> None:
    """All tables are offered, also those that retention removed; a table is read once."""
    results = bcf.run(config, progress=False)
    complete = Completer({"results": results}).complete
    offered = list(takewhile(bool, (complete("results.", place) for place in range(20))))
    assert {"results.verdicts", "results.metrics"} <= set(offered)
    assert set(vars(results)) == {"recorded"}
    assert results.verdicts is results.verdicts


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(bcf.BigCodeFlowError, match="store: is a int"):
        bcf.read_results(store=3)  # type: ignore[arg-type]
    with pytest.raises(bcf.BigCodeFlowError, match="no recorded run is called 'latest'"):
        bcf.read_results(store=tmp_path)


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, starter_environment: object) -> None:
    """Every cell, in a kernel of its own."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "docs" / "library.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert all(shown)
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for one in shown for output in one)
    assert shown[-1][-1]["data"]["text/plain"].startswith("RunResults(starter · full · complete · 5 of 45 tasks: ")
    assert (tmp_path / "results" / "notebook" / "report.html").is_file()
    assert not (tmp_path / "results" / "runs").exists()
