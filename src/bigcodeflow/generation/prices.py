"""What answers cost by the providers' list prices; unknown where a model has none, never 0."""

import datetime as dt
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.resources import shipped
from bigcodeflow.generation.exchange import Usage

_MILLION = 1_000_000
_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Price(_Table):
    """Price of some models of a provider, in USD per million tokens."""

    provider: str
    """As in front of the colon of generation.model."""
    models: tuple[str, ...] = Field(min_length=1)
    """Names or patterns with ? and *."""
    input: _Usd
    """Tokens read."""
    output: _Usd
    """Tokens written, reasoning included."""
    cached_input: _Usd | None = None
    """Tokens read from the provider's cache; None takes the price of input."""
    batch: Annotated[float, Field(gt=0, le=1)] | None = None
    """Factor of the batch API; None where there is none, or none is known."""


class PriceList(_Table):
    """Prices on a day."""

    as_of: dt.date
    """When they were published so."""
    prices: tuple[Price, ...]

    def find(self, provider: str, model: str) -> Price | None:
        """The price of a model, by the longest pattern that fits; None where none does."""
        fitting = [
            (len(pattern), price)
            for price in self.prices
            if price.provider == provider
            for pattern in price.models
            if fnmatchcase(model, pattern)
        ]
        return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def load_prices(path: str | Path | None = None) -> PriceList:
    """The shipped prices, or those of a file in the same form.

    Raises:
        ConfigError: one line for each problem, naming file, place and what is wrong.
    """
    file = shipped("configs/prices/published.yaml") if path is None else Path(path).expanduser()
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{file}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: must hold as_of and prices, as in the shipped configs/prices/published.yaml")
    try:
        return PriceList.model_validate(content)
    except ValidationError as error:
        lines = (f"{file}: {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigError("\n".join(lines)) from None


def cost_usd(price: Price | None, usage: Usage, *, batch: bool = False) -> float | None:
    """What a reply cost, in USD; None where the price or the tokens are not known.

    Args:
        price: of the model.
        usage: tokens of the reply.
        batch: whether it came from the provider's batch API.
    """
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if batch and price.batch is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars = (
        (usage.prompt_tokens - cached) * price.input + cached * cached_price + usage.completion_tokens * price.output
    )
    return dollars / _MILLION * (price.batch if batch and price.batch is not None else 1)
