"""Further rounds: what failed is asked for again, nothing is asked for twice, and scores are those of the first."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import GenerationError
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all, planned_run
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.recording import begin_run, record_run
from bigcodeflow.results.runs import recorded_runs
from bigcodeflow.store import open_store
from bigcodeflow.studies import recorded_studies
from bigcodeflow.studies.rounds import Chains, publish_rounds
from tests.doubles.listeners import RecordingListener
from tests.generation.providers.double import model_server
from tests.pipeline.repairing import ASKED, PASSES_IN, MendingModel, config, settings

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.usefixtures("starter_environment"),
    pytest.mark.filterwarnings("default"),
]


def _figures(run: RunConfig, artifacts: RunArtifacts) -> tuple[list[Any], float | None]:
    store = open_store(run.store)
    study = publish_rounds(run, artifacts, store)
    assert study is not None
    chains = Chains(store.read(study))
    return chains.summaries(), chains.mean_reciprocal_rank


@pytest.mark.slow
def test_a_model_that_mends_itself_in_known_rounds_gives_the_exact_figures(tmp_path: Path) -> None:
    """One round, then three: the first is reused, only failed samples are asked again, and no test is quoted."""
    model = MendingModel()
    with model_server(model) as server:
        once = perform_all(resolve(config(tmp_path, server, 1)), RecordingListener())
        assert model.asked == {1: 5}
        assert once.rounds == ()
        run = config(tmp_path, server, 3)
        assert planned_run(resolve(run))[1] == ("repair", "sanitizing", "execution") * 2
        artifacts = perform_all(resolve(run), RecordingListener())
        assert model.asked == ASKED
        assert artifacts.by_stage == once.by_stage
        assert perform_all(resolve(run), RecordingListener()) == artifacts
        assert planned_run(resolve(run)) == (artifacts, ())
        assert model.asked == ASKED
    rounds, mean_reciprocal_rank = _figures(run, artifacts)
    assert [one.asked for one in rounds] == list(ASKED.values())
    assert [one.repaired for one in rounds] == [2, 1, 1]
    assert [one.pass_at_1 for one in rounds] == pytest.approx([2 / 5, 3 / 5, 4 / 5])
    assert [one.recall for one in rounds] == pytest.approx([2 / 4, 3 / 4, 1.0])
    assert [one.usage["prompt_tokens"] for one in rounds] == [5 * 100, 3 * 200, 2 * 300]
    assert [one.usage["completion_tokens"] for one in rounds] == [5 * 50, 3 * 50, 2 * 50]
    assert [one.usage["cost_usd"] for one in rounds] == pytest.approx([0.010, 0.009, 0.008])
    assert mean_reciprocal_rank == pytest.approx((1 + 1 + 1 / 2 + 1 / 3 + 0) / 5)
    _check_conversations(model)
    _check_records(run, artifacts)
    _check_quarantine(config(tmp_path, server, 3, **{"execution.quarantine": "exclude"}), artifacts)


def _check_conversations(model: MendingModel) -> None:
    """A conversation goes on from the one before, and holds no line of the test that was not there before."""
    turns_of = {(task, number): turns for task, number, turns in model.requests}
    for (task, number), turns in turns_of.items():
        if number == 1:
            continue
        assert turns[: len(turns_of[task, number - 1])] == turns_of[task, number - 1]
        assert [turn["role"] for turn in turns[-2:]] == ["assistant", "user"]
        told = turns[-1]["content"]
        test, known = model.test_of(task), turns[0]["content"] + turns[-2]["content"]
        lines = [line.strip() for line in test.splitlines() if len(line.strip()) > 6 and line.strip() not in known]
        assert [line for line in lines if line in told] == []
    assert "AttributeError: 'DataFrame' object has no attribute 'append'" in turns_of[2, 2][-1]["content"]
    assert PASSES_IN.keys() == {task for task, number in turns_of if number == 1}


def _check_records(run: RunConfig, artifacts: RunArtifacts) -> None:
    """The record names the rounds beside the artifacts that scores are made from, and the study is of the model."""
    record_run(begin_run(run, resolve), artifacts)
    [recorded] = recorded_runs(run.store)
    assert list(recorded.rounds) == [one.keys for one in artifacts.rounds]
    assert recorded.keys["execution"] == artifacts.execution.key
    store = open_store(run.store)
    [study] = recorded_studies(store)
    assert study.models == (recorded.model,)
    assert study.title == "mending · full · complete, 3 rounds, feedback traceback"
    titles = [section.table.title for section in study.sections(store)]
    assert titles == ["Scores by round", "Cost by round", "Feedback by level", "Samples that a further round repaired"]


def _check_quarantine(run: RunConfig, artifacts: RunArtifacts) -> None:
    """Tasks that the run's score leaves out are in no score of its rounds: here the one that passes in round 2."""
    listed = {"quarantined_tasks": ["Starter/2"]}
    aggregation = artifacts.aggregation.model_copy(update={"statistics": listed})
    rounds, _ = _figures(run, artifacts._replace(aggregation=aggregation))
    assert [one.pass_at_1 for one in rounds] == pytest.approx([2 / 4, 2 / 4, 3 / 4])


@pytest.mark.slow
def test_the_limit_of_cost_counts_all_rounds(tmp_path: Path) -> None:
    """Round 1 costs 0.010 dollars: a limit that lets it through ends the second before anything is sent."""
    model = MendingModel()
    limits = {"generation.requests.max_cost_usd": 0.016, "generation.sampling.max_tokens": 50}
    with model_server(model) as server:
        with pytest.raises(GenerationError, match=r"max_cost_usd: 0\.0100 of 0\.016 US dollars are spent"):
            perform_all(resolve(config(tmp_path, server, 2, **limits)), RecordingListener())
        assert model.asked == {1: 5}
        limits["generation.requests.max_cost_usd"] = 1.0
        perform_all(resolve(config(tmp_path, server, 2, **limits)), RecordingListener())
    assert model.asked == {1: 5, 2: 3}


@pytest.mark.slow
def test_the_limit_of_cost_counts_answers_of_a_round_that_it_has_ended(tmp_path: Path) -> None:
    """Of round 2's three answers, 0.003 dollars each, one is paid for: asking again does not begin at 0."""
    model = MendingModel()
    limits = {"generation.requests.max_cost_usd": 0.0185, "generation.sampling.max_tokens": 50}
    with model_server(model) as server:
        for _ in range(2):
            with pytest.raises(GenerationError, match=r"max_cost_usd: 0\.0130 of 0\.0185 US dollars are spent"):
                perform_all(resolve(config(tmp_path, server, 2, **limits)), RecordingListener())
            assert model.asked == {1: 5, 2: 1}


@pytest.mark.slow
def test_a_kill_between_rounds_costs_nothing(tmp_path: Path) -> None:
    """Killed with the first request of round 3 under way: only that one is sent again, and the figures are the same."""
    running: list[subprocess.Popen[bytes]] = []
    unkilled = [3]

    def kill(number: int) -> None:
        if unkilled and number == unkilled[0]:
            unkilled.clear()
            running[0].kill()
            running[0].wait()

    model = MendingModel(kill)
    with model_server(model) as server:
        given = [f"--set={path}={value}" for path, value in settings(tmp_path, server).items()]
        command = [str(Path(sys.executable).with_name("bigcodeflow")), "run", "--no-prefect", *given]
        running.append(subprocess.Popen(command, env=os.environ | {"OPENAI_API_KEY": "none"}, cwd=tmp_path))
        running[0].wait(240)
        assert model.asked == {1: 5, 2: 3, 3: 1}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=True)
        assert model.asked == ASKED | {3: 3}
    assert "Scores by round" in done.stdout
    assert "80.0 %" in done.stdout
