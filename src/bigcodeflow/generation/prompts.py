"""What a model is asked: the original's prompts, to the letter, for tasks of either split.

Three forms. 'chat' asks for a program in a code block. 'prefill' asks the same and begins the answer, so that the model
goes on inside the block. 'direct' hands over the code to be completed, for models that were not trained to talk.
"""

from collections.abc import Mapping
from typing import Any

from bigcodeflow.config import PromptConfig, Split
from bigcodeflow.config.generation import FENCE, INSTRUCTION_PREFIX, answer_beginning, template_sha256
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_api import Message, Prompt, PromptForm

#: The original's ends of an answer for models that it runs itself; APIs for chats get none.
_STOPS = ("<|endoftext|>", "<|endofmask|>", "</s>", "\nif __name__", "\ndef main(", "\nprint(")
_STOPS_OF_FORM: Mapping[PromptForm, tuple[str, ...]] = {
    "chat": (),
    "prefill": (*_STOPS, f"\n{FENCE}\n"),
    "direct": (*_STOPS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
}


def prompt_of(task: Mapping[str, Any], split: Split, form: PromptForm, config: PromptConfig) -> Prompt:
    """The prompt of a task.

    Args:
        task: a row of the TASKS schema.
        split: whether the task is told with its docstring or in prose.
        form: how the model is asked.
        config: the texts around the task; empty ones are the original's.
    """
    template_sha = template_sha256(split, form, config)
    if form == "direct":
        return Prompt("direct", text=task["complete_prompt"], template_sha=template_sha)
    prefix = config.instruction_prefix or INSTRUCTION_PREFIX
    if split == "complete":
        question = f"{prefix}\n{FENCE}\n{task['complete_prompt'].strip()}\n{FENCE}\n"
    else:
        question = f"{prefix}\n{task['instruct_prompt'].strip()}\n"
    turns = [Message("system", config.system)] if config.system else []
    turns.append(Message("user", question))
    if form == "prefill":
        turns.append(Message("assistant", answer_beginning(config)))
    return Prompt(form, messages=tuple(turns), template_sha=template_sha)


def stops_of(form: PromptForm) -> tuple[str, ...]:
    """Texts that end an answer of this form, as in the original."""
    return _STOPS_OF_FORM[form]


def check_form(split: Split, form: PromptForm) -> None:
    """Refuse what no model can do.

    Raises:
        ConfigError: prose cannot be continued as code.
    """
    if form == "direct" and split == "instruct":
        raise ConfigError(
            "generation.prompt.form 'direct' continues code, and dataset.split 'instruct' has none to continue: "
            "take dataset.split complete, or the form chat"
        )


def raw_text(prompt: Prompt, answer: str) -> str:
    """What the sanitizer reads: with the form 'direct' the answer goes on where the prompt ends."""
    return prompt.text + answer if prompt.form == "direct" else answer
