"""One sweep over several benchmarks: own scripts, methods and contexts, and tasks of the starter set."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from prefect.client.orchestration import SyncPrefectClient

from bigcodeflow.cli.run import sweep as sweep_command
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.pipeline.sweeps import SweepBenchmark, SweepConfig, SweepModel
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.results.comparison.comparison import compare
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.results.runs import recorded_runs
from flows.sweep import sweep
from tests.conftest import ROOT
from tests.explorer.conftest import exploring
from tests.generation.providers.double import Completion, Received, model_server
from tests.generation.split_answers import solved_by_docstring

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_client", "starter_environment")]
LIVE = "livecodebench/code_generation_lite"
SOURCES = {"scripts": LIVE, "methods": LIVE, "contexts": "xlangai/DS-1000"}


def _read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_one_sweep_ranks_each_benchmark_apart(
    prefect_client: SyncPrefectClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each benchmark brings its settings and has its own score, files and board; runs of two are never compared."""
    monkeypatch.setattr("bigcodeflow.datasets.benchmarks.cache_folder", lambda: tmp_path / "cache")
    subprocess.run([sys.executable, ROOT / "data/benchmarks/build.py", tmp_path], check=True)
    known = {}
    for kind in SOURCES:
        answers = _read(tmp_path / f"{kind}_answers.jsonl")[::2]
        for row, answer in zip(_read(tmp_path / f"{kind}.jsonl"), answers, strict=True):
            question = row.get("question_content") or row["prompt"].removeprefix("Problem:")
            known[question.strip()] = answer["raw_solution"]

    def answer(request: Received) -> Completion:
        asked = request.body["messages"][-1]["content"]
        found = [text for question, text in known.items() if question in asked]
        return Completion(found[0]) if found else solved_by_docstring(request)

    with model_server(answer) as server:
        config = SweepConfig(
            name="all",
            models=(SweepModel(model="openai:m"), SweepModel(answers="stub")),
            benchmarks=(
                SweepBenchmark(source="starter"),
                *(SweepBenchmark(source=f"{name}={tmp_path / kind}.jsonl") for kind, name in SOURCES.items()),
            ),
            splits=("complete", "instruct"),
            common={
                "dataset.ids": "0-1",
                "execution.environment": "starter",
                "execution.workers": 1,
                "generation.base_url": server.url("openai"),
            },
            store=str(tmp_path / "store"),
            out=str(tmp_path / "out"),
        )
        state = sweep(config, return_state=True)
    assert state.is_completed()
    results = {result.name: result for result in state.result()}
    others = ("code_generation_lite-scripts", "code_generation_lite-methods", "DS-1000-contexts")
    asked = {name: result.pass_at_1 for name, result in results.items() if result.model == "m"}
    assert asked == {
        "m-complete-full": 1.0,
        "m-instruct-full": 0.0,
        **{f"m-{benchmark}-instruct-full": 1.0 for benchmark in others},
    }
    assert {result.pass_at_1 for name, result in results.items() if name.startswith("stub")} == {0.0}
    for benchmark in others:
        files = [path.name for path in (tmp_path / "out" / f"m-{benchmark}-instruct-full").iterdir()]
        assert any(f"--{benchmark}-instruct--openai" in name for name in files)
        assert not any("bigcodebench" in name for name in files)

    runs = {run.run: run for run in recorded_runs(config.store)}
    boards = {run.board.partition(" · 2 of")[0] for run in runs.values()}
    assert boards == {
        "full · complete",
        "full · instruct",
        *(f"{benchmark.replace('-', ' ')} · full · instruct" for benchmark in others[:2]),
        "DS-1000 contexts · full · instruct",
    }
    written = write_report(select_runs(config.store, list(runs)), tmp_path / "report.html").path.read_text()
    assert "DS-1000 contexts · full · instruct" in written
    assert "starter · full · complete" in written
    with exploring(SimpleNamespace(root=tmp_path / "store"), build=False) as explorer:
        shown = explorer.get("/", benchmark="DS-1000 contexts")
        assert '<option value="code_generation_lite methods">' in shown
        assert shown.count('name="run"') == 2
        assert "starter · full · complete" in explorer.get("/trends")
    with pytest.raises(ArtifactError, match="compare runs of one benchmark"):
        compare(open_runs(config.store, [f"m-{one}-instruct-full" for one in others[1:]]))


def test_the_command_plans_every_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep file lists benchmarks; splits and subsets of the sweep are the starter set's only."""
    subprocess.run([sys.executable, ROOT / "data/benchmarks/build.py", tmp_path], check=True)
    (tmp_path / "mine.yaml").write_text(
        f"models: [{{answers: stub}}]\nsubsets: [full, hard]\nstore: {tmp_path / 'store'}\n"
        f"benchmarks: [{{source: starter}}, {{source: '{LIVE}={tmp_path / 'scripts.jsonl'}', name: mine}}]\n"
    )
    sweep_command(file=str(tmp_path / "mine.yaml"), settings=["execution.environment=starter"], dry_run=True)
    shown = capsys.readouterr().out
    assert "Sweep mine: 3 runs" in shown
    assert "stub · code_generation_lite scripts · full · instruct" in shown
