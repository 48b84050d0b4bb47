"""What identifies a model's answers, what is asked of it, and grids."""

from typing import Any

import pytest

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_settings import ModelSettings, expand_grid, identity, ledger_key, sampling_of

TASKS = [{"task_id": f"T/{number}", "complete_prompt": f"def task_func(): # {number}\n"} for number in range(2)]


def config_of(**generation: Any) -> RunConfig:
    """A run that asks a model."""
    given = {"samples": {"source": "model"}, "generation": {"model": "openai:m", **generation}}
    return load_settings(given, "test")


def setting_of(**generation: Any) -> ModelSettings:
    """The setting of such a run, as a base model is asked."""
    config = config_of(**generation).generation
    return ModelSettings("complete", "direct", sampling_of(config.sampling, "direct"), config)


def test_answers_of_more_samples_lie_in_the_same_folder() -> None:
    """Ten samples after one keep the first; how fast a provider is asked changes nothing either."""
    one = config_of().generation
    ten = config_of(n_samples=10, requests={"concurrency": 2}, samples_per_request=5).generation
    assert ledger_key(one) == ledger_key(ten)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "openai:other"},
        {"base_url": "http://127.0.0.1:1/v1"},
        {"sampling": {"temperature": 0.5}},
        {"sampling": {"seed": 1}},
        {"sampling": {"max_tokens": 5}},
        {"prompt": {"system": "Be brief."}},
        {"prompt": {"form": "direct"}},
        {"extra_body": {"x": 1}},
        {"offline": {"dtype": "float32"}},
        {"offline": {"revision": "abc"}},
    ],
)
def test_what_may_change_an_answer_changes_the_folder(change: dict[str, Any]) -> None:
    """Otherwise one setting's answers would be taken for another's."""
    assert ledger_key(config_of(**change).generation) != ledger_key(config_of().generation)


def test_the_key_is_no_part_of_what_is_stored() -> None:
    assert "key" not in identity(config_of(api_key_variable="MY_KEY").generation)


def test_each_sample_has_a_seed_of_its_own() -> None:
    """The first sample's seed is the one that is stated; equal seeds would give equal answers."""
    setting = setting_of(n_samples=3, sampling={"seed": 7, "temperature": 1})
    found = [(one.task_id, one.sample_indices, one.seed) for one in setting.requests(TASKS)]
    assert found == [(f"T/{task}", (index,), 7 + index) for task in range(2) for index in range(3)]


def test_requests_for_several_samples_cover_each_once() -> None:
    setting = setting_of(n_samples=5, samples_per_request=2, sampling={"seed": 10})
    found = [(one.sample_indices, one.seed) for one in setting.requests(TASKS[:1])]
    assert found == [((0, 1), 10), ((2, 3), 12), ((4,), 14)]


def test_the_originals_nucleus_holds_above_temperature_0() -> None:
    assert sampling_of(config_of(sampling={"temperature": 0.8}).generation.sampling, "chat").top_p == 0.95
    assert sampling_of(config_of().generation.sampling, "chat").top_p is None
    assert sampling_of(config_of(sampling={"temperature": 1, "top_p": 0.5}).generation.sampling, "chat").top_p == 0.5


def test_own_ends_stand_beside_the_originals() -> None:
    stop = sampling_of(config_of(sampling={"stop": ["###", "\ndef "]}).generation.sampling, "direct").stop
    assert stop[:2] == ("###", "\ndef ")
    assert len(stop) == len(set(stop))


def test_a_grid_is_every_combination() -> None:
    """Each with a name, a folder where one is named, and a key of its own; without lists there is one setting."""
    config = config_of(sampling={"temperature": [0.2, 0.8], "top_p": [0.9, 1.0], "max_tokens": 64})
    assert {run.out for run in expand_grid(config)} == {""}
    config = config.model_copy(update={"out": "out"})
    runs = expand_grid(config)
    assert [run.name for run in runs] == ["run+t0.2-p0.9", "run+t0.2-p1.0", "run+t0.8-p0.9", "run+t0.8-p1.0"]
    assert len({ledger_key(run.generation) for run in runs}) == len({run.out for run in runs}) == 4
    assert all(run.generation.sampling.max_tokens == 64 for run in runs)

    assert expand_grid(runs[0]) == (runs[0],)
    with pytest.raises(ConfigError, match=r"generation\.sampling\.temperature: is a list"):
        identity(config_of(sampling={"temperature": [0, 1]}).generation)


def test_a_model_must_be_named() -> None:
    with pytest.raises(ConfigError, match=r"needs generation\.model"):
        load_settings({"samples": {"source": "model"}}, "test")
    with pytest.raises(ConfigError, match="PROVIDER:NAME"):
        config_of(model="gpt-4o")
