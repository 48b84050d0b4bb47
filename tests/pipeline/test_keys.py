"""What the keys of artifacts hold: every setting that can change a row, and nothing of what cannot."""

import typing
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from bigcodeflow.config import EnvironmentCheckConfig, RunConfig, load_settings
from bigcodeflow.config.reads import CONTENT, NEUTRAL, READS, view
from bigcodeflow.generation.model_settings import identity
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.pipeline.environment_check import check_settings
from bigcodeflow.pipeline.resolution import Content, ResolvedRun, Resolver
from bigcodeflow.pipeline.stages import each_stage, stage_of
from bigcodeflow.store import ArtifactRef, open_store

MODEL_RUN = load_settings({"samples": {"source": "model"}, "generation": {"model": "openai:m"}}, "test")
RECORDED_RUN = load_settings({"samples": {"source": "oracle"}}, "test")
RUNS = (MODEL_RUN, RECORDED_RUN)
Keys = dict[str, str]


def keys_of(config: RunConfig, **contents: object) -> Keys:
    """Key of every stage, by title; the contents that settings name are given, so that nothing is looked up."""
    named = {name: Content(contents.get(name, f"some {name}")) for name in CONTENT}
    run, keys = ResolvedRun(config, named, open_store(config.store)), Keys()

    def obtain(name: str, refs: Mapping[str, ArtifactRef]) -> ArtifactRef:
        stage = stage_of(name, run, refs)
        keys[stage.title] = stage.key
        return stage.planned

    each_stage(obtain)
    return keys


def sections(model: BaseModel, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting with its value, by path; sections are taken apart."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from sections(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def other(value: Any, annotation: Any) -> Any:
    """Another value of the same type; keys do not ask whether it is allowed."""
    kinds = typing.get_args(annotation) or (annotation,)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, tuple):
        return (*value, other(value[0] if value else None, kinds[0]))
    if value is None:
        return next((one for kind, one in ((int, 7), (float, 0.7)) if kind in kinds), "another")
    if isinstance(value, dict):
        return {"another": 1}
    return next((kind for kind in kinds if isinstance(kind, str) and kind != value), "another")


def changed(config: BaseModel, path: str) -> Any:
    """The same settings with one of them another."""
    name, _, rest = path.partition(".")
    if rest:
        return config.model_copy(update={name: changed(getattr(config, name), rest)})
    value = other(getattr(config, name), type(config).model_fields[name].annotation)
    return config.model_copy(update={name: value})


def under(path: str, declared: typing.Iterable[str]) -> bool:
    """Whether a setting, or a section that it lies in, is declared."""
    return any(path == one or path.startswith(f"{one}.") for one in declared)


PATHS = [path for path, _ in sections(RunConfig())]
_NAMING = [path for paths in CONTENT.values() for path in paths]


#: Recorded at version 0.1.0: every store in use holds artifacts under such keys.
RECORDED_KEYS = {
    "model": {
        "dataset": "b403dd56909401028f1a6fc0e3de51a59e2c8b9c19fb190149d4da8e8045a437",
        "generation": "29e6790419a1ffa68a1dac9ced3fcf202d39db7e890a8aa6bd8ad71e60fcd7ed",
        "sanitizing": "050744f390c00078c542bf650d9b1082e7470115b4caa4cd72a88a5881c1faa0",
        "ground truth": "266a92916a773ce2988480fb5580840ba6357768ca47ee77d839c3f7848671e0",
        "execution": "1d781db5ef2a885c2b95e2bacfbe14805f803624ad953f320b90b5a13a527a06",
        "aggregation": "b5534f5fea7b40b2247795ab3131005e88ba5311192ca3a351cea16a8be711dd",
    },
    "recorded": {
        "dataset": "b403dd56909401028f1a6fc0e3de51a59e2c8b9c19fb190149d4da8e8045a437",
        "generation": "fdc7a9cba0a49e29498c9b65ad3ebd1cf7925a97ce5118967a37125453960830",
        "sanitizing": "7171de562e6fbd34ac6ae42dd152a50bf48aea6fe420f4bd84bd56a8adc79836",
        "ground truth": "266a92916a773ce2988480fb5580840ba6357768ca47ee77d839c3f7848671e0",
        "execution": "caa3d9f49f197e992792fa22ef96a2d28f3a8ed1e8dbfc3fe9e2572ff408660e",
        "aggregation": "0f89f19253f0fd536ac7d28663c34db17d0a99ed3acea0ddf336fa23c6f47353",
    },
}


def test_keys_stay_what_stores_in_use_hold() -> None:
    """Another key for the same settings would execute every sample of every store again."""
    assert {"model": keys_of(MODEL_RUN), "recorded": keys_of(RECORDED_RUN)} == RECORDED_KEYS


@pytest.mark.parametrize("path", PATHS)
def test_every_setting_changes_a_key_or_is_neutral_for_a_stated_reason(path: str) -> None:
    """A setting in no key would let two runs that differ in it share an artifact, and one of them a wrong score."""
    # samples.source says which of two ways the samples come: both runs are asked.
    changes = [keys_of(changed(run, path)) != keys_of(run) for run in RUNS]
    if under(path, NEUTRAL):
        assert not any(changes)
        assert not under(path, _NAMING)
    elif path in _NAMING:
        assert path == "samples.source" or not any(changes)  # its content decides, by the test below
    else:
        assert any(changes)


@pytest.mark.parametrize("name", CONTENT)
def test_what_a_setting_names_changes_the_keys_of_who_reads_it_and_of_all_that_follows(name: str) -> None:
    """Another content under the same name is never taken for the former one."""
    before, after = keys_of(RECORDED_RUN), keys_of(RECORDED_RUN, **{name: "another content"})
    differ = {title for title, key in before.items() if after[title] != key}
    readers = {title for title, reads in READS.items() if name in reads.content} & before.keys()
    assert readers <= differ
    assert "aggregation" in differ
    assert ("dataset" in differ) == (name == "dataset")


def test_the_split_is_held_where_a_model_is_asked_and_nowhere_else_before_the_score() -> None:
    """Complete and Instruct share tasks, ground truths and recorded answers, and no answer of a model."""
    asked, recorded = (
        {title for title, key in keys_of(run).items() if keys_of(changed(run, "dataset.split"))[title] != key}
        for run in RUNS
    )
    assert asked == {"generation", "sanitizing", "execution", "aggregation"}
    assert recorded == {"aggregation"}


@pytest.mark.parametrize("stage", READS)
def test_a_stage_cannot_read_what_is_not_declared_for_it(stage: str) -> None:
    """Reading any other setting is an error in the first test that does it, and no wrong artifact later."""
    seen = view(RunConfig(), READS[stage].paths)
    for path in PATHS:
        if under(path, READS[stage].paths):
            assert read(seen, path) == read(RunConfig(), path)
        else:
            with pytest.raises(AttributeError):
                read(seen, path)


def read(model: Any, path: str) -> Any:
    for name in path.split("."):
        model = getattr(model, name)
    return model


def test_declarations_name_settings_that_exist_and_reasons_for_what_no_key_holds() -> None:
    """A misspelt path would declare nothing."""
    declared = [*NEUTRAL, *_NAMING, *(path for reads in READS.values() for path in reads.identity)]
    assert [path for path in declared if not any(under(one, [path]) for one in PATHS)] == []
    assert [path for reads in READS.values() for path in reads.neutral if path not in NEUTRAL] == []
    assert all(NEUTRAL.values())


def test_answers_are_kept_apart_by_all_that_the_samples_key_holds() -> None:
    """A ledger that two settings shared would hand one's answers to the other under a key that tells them apart.

    Prompts tell splits apart, and sample numbers are counted on; failed answers are marked, and seen where accepted.
    """
    reads = READS["generation by a model"]
    elsewhere = {"dataset.split", "generation.n_samples", "generation.unanswerable"}
    for path in (path for path in PATHS if under(path, reads.identity) and path not in elsewhere):
        assert identity(changed(MODEL_RUN, path).generation) != identity(MODEL_RUN.generation), path


def test_a_run_is_resolved_without_what_it_does_not_need(starter_environment: InstalledEnvironment) -> None:
    """What several runs name alike is looked up once; samples of a model name no content."""
    resolver = Resolver()
    run = resolver(RECORDED_RUN)
    again = resolver(changed(RECORDED_RUN, "aggregation.k"))
    assert run.environment is again.environment
    assert run.environment == starter_environment
    assert run.contents["dataset"].value is again.contents["dataset"].value
    assert "environment" not in resolver.up_to_sanitizing(MODEL_RUN).contents
    assert keys_of(replace(run, config=MODEL_RUN).config) == keys_of(MODEL_RUN)


def test_a_check_judges_what_it_names(starter_environment: InstalledEnvironment) -> None:
    """Its fields are settings of its run; the tasks are the environment's own where no dataset is named."""
    check = EnvironmentCheckConfig(ids="1", subset="hard", workers=3, overrides=("execution.limits.time_seconds=60",))
    run = check_settings(check)
    assert (run.dataset.source, run.dataset.ids, run.dataset.subset) == ("starter", "1", "hard")
    assert (run.execution.environment, run.execution.workers, run.execution.limits.time_seconds) == ("starter", 3, 60)
    assert check_settings(check.model_copy(update={"dataset": "mine.jsonl"})).dataset.source == "mine.jsonl"
