"""Prompts are the original's, character by character."""

import pytest

from bigcodeflow.config import GenerationConfig, PromptConfig, Split
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_settings import STOPS, prompt_of, resolve_settings

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
