"""Models that reason get room for it by default, without a change for those that do not."""

from typing import Any

import pytest

from bigcodeflow.config import GenerationConfig
from bigcodeflow.generation.model_settings import ledger_key
from tests.generation.conftest import run_config


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
