"""What identifies a model's answers, what is asked of it, and grids."""

from typing import Any

import pytest

from bigcodeflow.config import load_settings
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_settings import ModelSettings, expand_grid, identity, ledger_key, sampling_of
from tests.generation.conftest import run_config

TASKS = [{"task_id": f"T/{number}", "complete_prompt": f"def task_func(): # {number}\n"} for number in range(2)]


def setting_of(**generation: Any) -> ModelSettings:
    """The setting of such a run, as a base model is asked."""
    config = run_config(**generation).generation
    return ModelSettings("complete", "direct", sampling_of(config.sampling, "direct"), config)


def test_answers_of_more_samples_lie_in_the_same_folder() -> None:
    """Ten samples after one keep the first; how fast a provider is asked changes nothing either."""
    one = run_config().generation
    ten = run_config(n_samples=10, requests={"concurrency": 2}, samples_per_request=5).generation
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
    assert ledger_key(run_config(**change).generation) != ledger_key(run_config().generation)


def test_the_key_is_no_part_of_what_is_stored() -> None:
    assert "key" not in identity(run_config(api_key_variable="MY_KEY").generation)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"n_samples": 3, "sampling": {"seed": 7, "temperature": 1}}, [((0,), 7), ((1,), 8), ((2,), 9)]),
        (
            {"n_samples": 5, "samples_per_request": 2, "sampling": {"seed": 10}},
            [((0, 1), 10), ((2, 3), 12), ((4,), 14)],
        ),
    ],
)
def test_each_sample_is_asked_once_with_a_seed_of_its_own(given: dict[str, Any], expected: list[Any]) -> None:
    """The first sample's seed is the one that is stated; equal seeds would give equal answers."""
    found = [(one.task_id, one.sample_indices, one.seed) for one in setting_of(**given).requests(TASKS)]
    assert found == [(task["task_id"], *one) for task in TASKS for one in expected]


@pytest.mark.parametrize(
    ("sampling", "top_p"), [({"temperature": 0.8}, 0.95), ({}, None), ({"temperature": 1, "top_p": 0.5}, 0.5)]
)
def test_the_originals_nucleus_holds_above_temperature_0(sampling: dict[str, Any], top_p: float | None) -> None:
    assert sampling_of(run_config(sampling=sampling).generation.sampling, "chat").top_p == top_p


def test_own_ends_stand_beside_the_originals() -> None:
    stop = sampling_of(run_config(sampling={"stop": ["###", "\ndef "]}).generation.sampling, "direct").stop
    assert stop[:2] == ("###", "\ndef ")
    assert len(stop) == len(set(stop))


def test_a_grid_is_every_combination() -> None:
    """Each with a name, a folder where one is named, and a key of its own; without lists there is one setting."""
    config = run_config(sampling={"temperature": [0.2, 0.8], "top_p": [0.9, 1.0], "max_tokens": 64})
    assert {run.out for run in expand_grid(config)} == {""}
    config = config.model_copy(update={"out": "out"})
    runs = expand_grid(config)
    assert [run.name for run in runs] == ["run+t0.2-p0.9", "run+t0.2-p1.0", "run+t0.8-p0.9", "run+t0.8-p1.0"]
    assert len({ledger_key(run.generation) for run in runs}) == len({run.out for run in runs}) == 4
    assert all(run.generation.sampling.max_tokens == 64 for run in runs)

    assert expand_grid(runs[0]) == (runs[0],)
    with pytest.raises(ConfigError, match=r"generation\.sampling\.temperature: is a list"):
        identity(run_config(sampling={"temperature": [0, 1]}).generation)


def test_a_model_must_be_named() -> None:
    with pytest.raises(ConfigError, match=r"needs generation\.model"):
        load_settings({"samples": {"source": "model"}}, "test")
    with pytest.raises(ConfigError, match="PROVIDER:NAME"):
        run_config(model="gpt-4o")
