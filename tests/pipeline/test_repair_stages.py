"""Further rounds of what could not be judged: made again once it was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.config.reads import CONTENT
from bigcodeflow.core.schemas import TASKS, table_of
from bigcodeflow.pipeline.resolution import Content, ResolvedRun
from bigcodeflow.pipeline.runs import further_rounds, planned_run
from bigcodeflow.pipeline.stages import ROUND_STAGES, finished_artifact, round_input, stage_of
from bigcodeflow.store import ArtifactRef, Store
from tests.generation.test_repair import round_of


@pytest.fixture
def run(tmp_path: Path) -> ResolvedRun:
    settings = {"generation.model": "openai:m", "generation.rounds": 3, "store": str(tmp_path)}
    contents = {name: Content(f"some {name}") for name in CONTENT}
    return ResolvedRun(load_config(None, (), settings), contents, Store(tmp_path))


def _first(store: Store, infra_errors: int) -> dict[str, ArtifactRef]:
    tables = round_of({"T/1": "infra_error" if infra_errors else "pass"})
    found = {
        stage: store.publish(stage, "1" * 64, table, settings={}, statistics={"infra_errors": infra_errors})
        for stage, table in zip(ROUND_STAGES, tables, strict=True)
    }
    return found | {"dataset": store.publish("dataset", "1" * 64, table_of([], TASKS), settings={})}


@pytest.mark.parametrize("infra_errors", [0, 1])
def test_a_round_after_samples_that_were_not_judged_is_not_finished(
    run: ResolvedRun, tmp_path: Path, infra_errors: int
) -> None:
    """Else a later run, whose verdict is a failure, would reuse a round in which the sample was not asked for."""
    store = Store(tmp_path)
    first = _first(store, infra_errors)
    refs = {"dataset": first["dataset"], **{round_input(stage, 1): first[stage] for stage in ROUND_STAGES}}
    given = dict(refs)
    for name, table_of_stage in (("repair", "generation"), ("sanitizing", "sanitizing")):
        stage = stage_of(name, run, given)
        table, counts = stage.compute(store, lambda *_: None)
        ref = store.publish(stage.folder, stage.key, table, settings=stage.settings, statistics=counts)
        assert (finished_artifact(stage, store) is None) == bool(infra_errors)
        given = {"dataset": first["dataset"], table_of_stage: ref}


def test_a_plan_names_the_stages_of_every_round(run: ResolvedRun) -> None:
    """So that a run whose first round is in the store is not taken for finished."""
    artifacts, missing = planned_run(run)
    assert missing[-6:] == ("repair", "sanitizing", "execution") * 2
    assert len(missing) == len(artifacts.by_stage) + 6
    assert len({key for one in artifacts.rounds for key in one.keys.values()}) == 6


def test_keys_of_a_round_hold_all_rounds_before_and_the_level(run: ResolvedRun) -> None:
    """More rounds reuse those that are there; other feedback makes others, and recorded answers have one round."""

    def keys(config: RunConfig) -> list[str]:
        made: list[str] = []

        def obtain(name: str, refs: Any) -> ArtifactRef:
            stage = stage_of(name, replace(run, config=config), refs)
            made.append(stage.key)
            return stage.planned

        first = {name: ArtifactRef(stage=name, key=name, rows=0, sha256="") for name in (*ROUND_STAGES, "dataset")}
        further_rounds(config, first | {"ground_truth": first["dataset"]}, obtain)
        return made

    three = keys(run.config)
    assert len(set(three)) == len(three) == 2 * len(ROUND_STAGES)
    two = run.config.generation.model_copy(update={"rounds": 2})
    assert keys(run.config.model_copy(update={"generation": two})) == three[:3]
    recorded = run.config.samples.model_copy(update={"source": "oracle"})
    assert keys(run.config.model_copy(update={"samples": recorded})) == []
    told_less = run.config.generation.model_copy(update={"feedback": "failed"})
    assert not set(keys(run.config.model_copy(update={"generation": told_less}))) & set(three)
