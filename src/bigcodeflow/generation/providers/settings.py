"""Lines about settings that a provider does not take, in one wording."""

from collections.abc import Mapping, Sequence

from bigcodeflow.generation.model_api import PromptForm, Request, Sampling


def untaken(sampling: Sampling, reasons: Mapping[str, str]) -> list[str]:
    """One line for each given parameter that has a reason against it.

    Args:
        sampling: what is asked for.
        reasons: parameter to reason, with remedy where there is a better one than leaving it empty.
    """
    return [unset(f"sampling.{name}", reason) for name, reason in reasons.items() if name in sampling.given()]


def unset(setting: str, reason: str) -> str:
    """The line for a setting that must be left empty."""
    return f"generation.{setting}: {reason}; set it to null"


def one_answer(samples: int, who: str) -> list[str]:
    """The line for a provider that gives one answer a request."""
    if samples == 1:
        return []
    return [f"generation.samples_per_request: {who} gives one answer a request; set it to 1"]


def other_form(form: PromptForm, taken: Sequence[PromptForm], who: str) -> list[str]:
    """The line for a prompt form that is not taken."""
    if form in taken:
        return []
    return [f"generation.prompt.form: {who} does not take {form!r}; set it to {' or '.join(taken)}"]


def turns(request: Request) -> list[dict[str, str]]:
    """A prompt's turns as most providers take them."""
    return [{"role": message.role, "content": message.text} for message in request.prompt.messages]
