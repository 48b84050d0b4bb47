"""The options by which commands name a model and how it is asked, and the settings that they mean."""

from typing import Annotated, Any

import typer
import yaml

from bigcodeflow.cli.options import flat_overrides
from bigcodeflow.core.errors import ConfigError

_GENERATION = "Generation"

Model = Annotated[
    str,
    typer.Option(
        help="PROVIDER:NAME. Providers: openai (and every server that speaks its protocol), anthropic, google, "
        "mistral, ollama, huggingface; vllm and transformers load the model here.",
        rich_help_panel=_GENERATION,
    ),
]
BaseUrl = Annotated[
    str, typer.Option(help="Address of the server, such as http://127.0.0.1:8000/v1.", rich_help_panel=_GENERATION)
]
NSamples = Annotated[
    int | None, typer.Option(min=1, help="Answers to each task. [default: 1]", rich_help_panel=_GENERATION)
]
Temperature = Annotated[
    str,
    typer.Option(help="0 is greedy. Several, such as 0.2,0.8, make a grid. [default: 0]", rich_help_panel=_GENERATION),
]
TopP = Annotated[
    str,
    typer.Option(help="Nucleus; several make a grid. [default: 0.95 above temperature 0]", rich_help_panel=_GENERATION),
]
MaxTokens = Annotated[
    str, typer.Option(help="Tokens of an answer; several make a grid. [default: 1280]", rich_help_panel=_GENERATION)
]
Concurrency = Annotated[
    int | None, typer.Option(min=1, help="Requests under way at once. [default: 64]", rich_help_panel=_GENERATION)
]
MaxCostUsd = Annotated[
    float | None,
    typer.Option(help="Stop asking when answers have cost so much; what came is kept.", rich_help_panel=_GENERATION),
]
Batch = Annotated[
    bool,
    typer.Option(
        "--batch", help="Use the provider's batch API: half price, within 24 hours.", rich_help_panel=_GENERATION
    ),
]


def generation_settings(
    *,
    model: str,
    base_url: str,
    n_samples: int | None,
    temperature: str,
    top_p: str,
    max_tokens: str,
    concurrency: int | None,
    max_cost_usd: float | None,
    batch: bool,
) -> dict[str, Any]:
    """The generation section that the options mean; what was not given is left out."""
    sampling = {
        "temperature": _values("--temperature", temperature),
        "top_p": _values("--top-p", top_p),
        "max_tokens": _values("--max-tokens", max_tokens),
    }
    requests = {"concurrency": concurrency, "max_cost_usd": max_cost_usd, "batch": batch or None}
    given = {
        "model": model or None,
        "base_url": base_url or None,
        "n_samples": n_samples,
        "sampling": _given(sampling),
        "requests": _given(requests),
    }
    return {name: value for name, value in given.items() if value not in (None, {})}


def overrides(options: dict[str, Any]) -> tuple[str, ...]:
    """The same settings as ``--set`` would state them on top of a preset."""
    if not options:
        return ()
    source = ("samples.source=model",) if "model" in options else ()
    return (*source, *flat_overrides("generation", options))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _values(option: str, text: str) -> Any:
    """None, one number, or a list of them."""
    if not text:
        return None
    values = [yaml.safe_load(part) for part in text.split(",")]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise ConfigError(f"{option} {text!r} is not a number or a list of numbers such as 0.2,0.8")
    return values if len(values) > 1 else values[0]
