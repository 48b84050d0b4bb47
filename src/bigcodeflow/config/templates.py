"""What a prompt is made with but the task's own text; its identity tells later which split a model was asked."""

import hashlib
import json

from bigcodeflow.config.generation import PromptConfig

#: Every way of asking; `auto` is settled to one of them before a prompt is made.
FORMS = ("chat", "prefill", "direct")
INSTRUCTION_PREFIX = (
    "Please provide a self-contained Python script that solves the following problem in a markdown code block:"
)
RESPONSE_PREFIX = (
    "Below is a Python script with a self-contained function that solves the problem and passes corresponding tests:"
)
FENCE = "```"


def template_sha256(split: str, form: str, config: PromptConfig) -> str:
    """sha256 of everything that a prompt is made with but the task's own text."""
    texts = {
        "split": split,
        "form": form,
        "system": config.system,
        "instruction_prefix": config.instruction_prefix or INSTRUCTION_PREFIX,
        "beginning": answer_beginning(config) if form == "prefill" else "",
    }
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def answer_beginning(config: PromptConfig) -> str:
    """How an answer begins where the prompt's form is prefill."""
    return f"{config.response_prefix or RESPONSE_PREFIX}\n{FENCE}python\n"
