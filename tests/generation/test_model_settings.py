"""What a model is asked, with which limit, what identifies its answers, and grids."""

from typing import Any

import pytest

from bigcodeflow.config import GenerationConfig, PromptConfig, Split, load_settings
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_settings import (
    STOPS,
    ModelSettings,
    expand_grid,
    identity,
    ledger_key,
    prompt_of,
    resolve_settings,
    sampling_of,
)
from tests.generation.conftest import run_config

TASK = {
    "complete_prompt": 'import json\ndef task_func(x):\n    """Completion x.\n    """\n',
    "instruct_prompt": "Completion x.\nYou should write self-contained code starting with:\n```\nimport json\n```\n",
}
PREFIX = "Please provide a self-contained Python script that solves the following problem in a markdown code block:"
BEGINNING = (
    "Below is a Python script with a self-contained function that solves the problem and passes corresponding tests:"
    "\n```python\n"
)
ORIGINAL = PromptConfig()


@pytest.mark.parametrize(
    ("split", "asked"),
    [
        ("complete", '```\nimport json\ndef task_func(x):\n    """Completion x.\n    """\n```'),
        ("instruct", TASK["instruct_prompt"].strip()),
    ],
)
def test_a_chat_asks_with_code_or_prose(split: Split, asked: str) -> None:
    """Instruction, and the code in a block or the prose, without white space around it."""
    (turn,) = prompt_of(TASK, split, "chat", ORIGINAL).messages
    assert (turn.role, turn.text) == ("user", f"{PREFIX}\n{asked}\n")


def test_prefill_begins_the_answer() -> None:
    """The same question, and the assistant's turn up to the opened code block, which is no part of the answer."""
    question, answer = prompt_of(TASK, "complete", "prefill", ORIGINAL).messages
    assert question == prompt_of(TASK, "complete", "chat", ORIGINAL).messages[0]
    assert (answer.role, answer.text) == ("assistant", BEGINNING)
    assert prompt_of(TASK, "complete", "prefill", ORIGINAL).text == ""


def test_direct_is_the_bare_code() -> None:
    """Nothing is stripped: the model goes on where the text ends."""
    prompt = prompt_of(TASK, "complete", "direct", ORIGINAL)
    assert (prompt.text, prompt.messages) == (TASK["complete_prompt"], ())


def test_direct_cannot_do_prose() -> None:
    with pytest.raises(ConfigError, match=r"dataset\.split complete"):
        resolve_settings(GenerationConfig(model="openai:m", prompt={"form": "direct"}), "instruct")


def test_own_texts_replace_the_originals() -> None:
    """A system prompt comes first; the template's hash tells the two apart, and not the tasks."""
    own = PromptConfig(system="Be brief.", instruction_prefix="Solve:")
    prompt = prompt_of(TASK, "complete", "chat", own)
    assert [turn.role for turn in prompt.messages] == ["system", "user"]
    assert prompt.messages[1].text.startswith("Solve:\n```\n")
    assert prompt.template_sha != prompt_of(TASK, "complete", "chat", ORIGINAL).template_sha
    other = {"complete_prompt": "def task_func():\n", "instruct_prompt": "Do."}
    assert prompt.template_sha == prompt_of(other, "complete", "chat", own).template_sha


def test_answers_end_where_the_original_ends_them() -> None:
    """A chat over a network has no stop strings; the two others have the original's."""
    assert STOPS["chat"] == ()
    assert "\n```\n" in STOPS["prefill"]
    assert {"\ndef ", "\nclass ", "\nif __name__", "<|endoftext|>"} <= set(STOPS["direct"])


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


def limit_of(model: str, **generation: Any) -> Any:
    return run_config(model, **generation).generation.sampling.max_tokens


REASONING = (
    "openai:o3-mini",
    "openai:gpt-5-mini-2025-08-07",
    "openai:gpt-6.1-sol",
    "openai-responses:o1",
    "azure:o4-mini",
    "anthropic:claude-opus-5-5",
    "anthropic:claude-fable-5-1",
    "bedrock:eu.anthropic.claude-sonnet-5-5-v1:0",
    "google:gemini-2.5-pro",
    "vertex:gemini-3.8-flash",
    "mistral:magistral-medium-2509",
    "openai:deepseek-reasoner",
    "vllm-server:deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
    "huggingface:openai/gpt-oss-20b",
    "vllm:Qwen/Qwen3-4B-Thinking-2507",
)
OTHERS = (
    "openai:gpt-4o",
    "openai:gpt-5-chat-latest",
    "openai:gpt-5.2",
    "anthropic:claude-sonnet-4-5-20250929",
    "anthropic:claude-opus-4-8",
    "anthropic:claude-3-5-sonnet-20241022",
    "google:gemini-2.5-flash-lite",
    "google:gemini-2.0-flash",
    "mistral:mistral-large-2512",
    "vllm:Qwen/Qwen2.5-Coder-7B-Instruct",
    "openai:my-rethinking-model",
)


@pytest.mark.parametrize("model", REASONING)
def test_a_model_that_reasons_gets_room(model: str) -> None:
    """The limit that counts stands in the settings, and so in every key."""
    assert limit_of(model) == 32_000


@pytest.mark.parametrize("model", OTHERS)
def test_other_models_keep_the_originals_limit_and_their_answers(model: str) -> None:
    """Nothing changes for them: neither the limit nor the folder of their answers."""
    assert limit_of(model) == 1280
    config = GenerationConfig(model=model)
    assert ledger_key(config) == ledger_key(config.model_copy(update={"reasoning_max_tokens": 1}))


@pytest.mark.parametrize(
    ("model", "given", "limit"),
    [
        ("openai:o1", {"sampling": {"max_tokens": 1280}}, 32_000),  # a form sends its defaults too
        ("openai:o1", {"reasoning_max_tokens": 9000}, 9000),
        ("openai:o1", {"reasoning_max_tokens": 0}, 1280),
        ("openai:o1", {"sampling": {"max_tokens": 4096}}, 4096),
        ("openai:o1", {"sampling": {"max_tokens": None}}, None),
        ("openai:o1", {"sampling": {"reasoning_effort": "none"}}, 1280),
        ("openai:o1", {"sampling": {"reasoning_tokens": 0}}, 1280),
        ("openai:gpt-5.2", {"sampling": {"reasoning_effort": "high"}}, 32_000),
        ("openai:gpt-5.2", {"sampling": {"reasoning_tokens": 2048}}, 32_000),
    ],
)
def test_what_somebody_sets_counts(model: str, given: dict[str, Any], limit: int | None) -> None:
    assert limit_of(model, **given) == limit


def test_sampling_that_is_no_section_is_reported_as_ever() -> None:
    with pytest.raises(Exception, match=r"generation\.sampling"):
        limit_of("openai:o3", sampling="warm")
