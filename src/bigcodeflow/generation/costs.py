"""Costs of answers by the providers' list prices; without a list price, the cost is unknown, never 0."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from bigcodeflow.config import GenerationConfig, read_yaml
from bigcodeflow.core.errors import ConfigError, GenerationError
from bigcodeflow.core.settings import SettingsModel, validated
from bigcodeflow.generation.model_api import TokenUsage
from bigcodeflow.generation.model_settings import ModelSettings, ledger_of, provider_and_model

_CHARACTERS_PER_TOKEN = 4
#: Older prices are still used, with a note that they are old.
_FRESH_DAYS = 90
#: Providers that charge by the price list of another provider.
_SAME_LIST: Mapping[str, str] = {"openai-responses": "openai"}
_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(SettingsModel):
    """Price of some models of a provider, in USD per million tokens."""

    provider: str
    models: tuple[str, ...] = Field(min_length=1)
    """Names of models, or patterns with ? and *."""
    input: _Usd
    output: _Usd
    """Price of tokens that the model writes, including reasoning."""
    cached_input: _Usd | None = None
    """Price of input tokens from the provider's cache; None takes the price of ``input``."""
    batch: Annotated[float, Field(gt=0, le=1)] | None = None
    """Factor for prices of the batch API; None if there is no batch API or the factor is unknown."""
    until: dt.date | None = None
    """Last day on which the price is valid; None if the provider states no end."""


class PriceList(SettingsModel):
    as_of: dt.date
    """Day on which the providers published these prices."""
    prices: tuple[Price, ...]

    def find(self, provider: str, model: str, today: dt.date | None = None) -> Price | None:
        """Return the price whose matching pattern is longest; None if no price valid ``today`` matches ``model``."""
        today = today or dt.datetime.now(dt.UTC).date()
        valid = (price for price in self.prices if price.until is None or today <= price.until)
        prices = [price for price in valid if price.provider == provider]
        fitting = [(price, len(pattern)) for price in prices for pattern in price.models if fnmatchcase(model, pattern)]
        return max(fitting, key=itemgetter(1))[0] if fitting else None


def load_prices(path: str | Path | None = None) -> PriceList:
    """Read the price list in the file ``path``; None reads the shipped price list."""
    content, file = read_yaml("price list", path or "published", "configs/prices")
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: must hold as_of and prices, as in the shipped configs/prices/published.yaml")
    return validated(PriceList, content, str(file))


class FoundPrice(NamedTuple):
    price: Price | None
    """Price of the model; None if no price list has the model."""
    as_of: dt.date | None = None
    note: str = ""
    """Message for the user if the price is old; otherwise empty."""


def find_price(config: GenerationConfig, today: dt.date | None = None) -> FoundPrice:
    """Return the price of the configured model from the user's price list or, if missing there, the shipped list."""
    provider, model = provider_and_model(config)
    own, today = config.requests.prices, today or dt.datetime.now(dt.UTC).date()
    names = dict.fromkeys((provider, _SAME_LIST.get(provider, provider)))
    for file in filter(None, (own, "configs/prices/published.yaml")):
        prices = load_prices(own) if file == own else load_prices()
        price = next(filter(None, (prices.find(name, model, today) for name in names)), None)
        if price is not None:
            days = (today - prices.as_of).days
            remedy = "check them against the provider's prices, and set generation.requests.prices to your own list"
            note = f"the prices in {file} are {days} days old (of {prices.as_of}): {remedy}"
            return FoundPrice(price, prices.as_of, note if days > _FRESH_DAYS else "")
    return FoundPrice(None)


def cost_usd(price: Price | None, usage: TokenUsage, *, batch: bool = False) -> float | None:
    """Return the cost of a reply in USD, at the batch API's price if ``batch``; None if a price or count is unknown."""
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if (factor := price.batch if batch else 1.0) is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars = (
        (usage.prompt_tokens - cached) * price.input + cached * cached_price + usage.completion_tokens * price.output
    )
    return dollars / 1_000_000 * factor


ReplyPrice = Callable[[TokenUsage], float | None]
"""Function that returns the cost of a reply in US dollars from its token counts; None if unknown."""


class Spending:
    """Money of a run: the cost of received replies is spent, and the maximum cost of open requests is reserved.

    A request counts with its longest possible answer until its reply states the real tokens. So a run keeps its cost
    limit if the length of answers is limited (max_tokens). A request that ends without an answer counts as 0.
    """

    def __init__(self, price: ReplyPrice | None, max_cost_usd: float | None, spent_usd: float = 0.0) -> None:
        self._price, self._limit_usd = price, inf if max_cost_usd is None else max_cost_usd
        self._unpriced_usd = self._reserved_usd = 0.0
        self.cost_usd: float | None = spent_usd or None
        """Cost of the replies with a known price, plus the initial ``spent_usd``; None if there is no cost yet."""

    def of(self, usage: TokenUsage) -> float | None:
        return self._price and self._price(usage)

    def expected(self, usage: TokenUsage) -> float:
        """Return the cost of ``usage`` in USD, 0 without a cost limit; raise GenerationError if no price is known."""
        if self._limit_usd == inf:
            return 0.0
        cost = self.of(usage)
        if cost is None:
            raise GenerationError(
                f"max_cost_usd is {self._limit_usd:g}, but no price is known for this model: "
                "state its price in a file that generation.requests.prices names, or run without max_cost_usd"
            )
        return cost

    def has_room(self, expected_usd: float) -> bool:
        spent_usd = (self.cost_usd or 0.0) + self._unpriced_usd + self._reserved_usd
        return spent_usd + expected_usd <= self._limit_usd * (1 + 1e-9)  # sums of floats are not exact

    def reserve(self, expected_usd: float) -> None:
        """Reserve the maximum cost of a request before it is sent; a negative value ends the reservation."""
        self._reserved_usd += expected_usd

    def spend(self, cost: float | None, expected_usd: float) -> None:
        """Add the ``cost`` of a reply; if it is None, count the reserved ``expected_usd`` against the limit instead."""
        if cost is None:
            self._unpriced_usd += expected_usd
        else:
            self.cost_usd = (self.cost_usd or 0.0) + cost

    @property
    def limit_reached(self) -> str:
        spent_usd = (self.cost_usd or 0.0) + self._unpriced_usd
        spent = f"{spent_usd:.4f} of {self._limit_usd:g} US dollars are spent"
        return f"max_cost_usd: {spent}, and the next answer may exceed the limit"


class RequestEstimate(NamedTuple):
    samples: int
    known: int
    """Number of samples with answers from earlier runs."""
    requests: int
    """Number of requests that are still to be sent."""
    prompt_tokens: int
    """Prompt tokens of these requests, estimated at four characters per token."""
    most_completion_tokens: int | None
    """Completion tokens if every answer has its maximum length; None if answers have no limit."""
    most_cost_usd: float | None
    """Maximum cost in USD; None if no price is known or if the length of answers has no limit."""
    price: FoundPrice


def estimate_requests(
    settings: ModelSettings, tasks: Sequence[Mapping[str, Any]], answers_folder: Path
) -> RequestEstimate:
    """Estimate the number, tokens and maximum cost of the requests that are still to be sent."""
    config = settings.config
    known: dict[tuple[str, str], list[int]] = {}
    ledger_keys = ledger_of(config, answers_folder).keys()
    for task_id, prompt_sha, index in ledger_keys:
        if index < config.n_samples:
            known.setdefault((task_id, prompt_sha), []).append(index)
    samples = answered = requests = tokens = 0
    size = config.samples_per_request
    one_each = replace(settings, config=config.model_copy(update={"n_samples": 1}))
    for request in one_each.requests(tasks):
        indices = known.get((request.task_id, request.prompt_sha), ())
        parts = Counter(index // size for index in indices)
        whole = sum(count == min(size, config.n_samples - part * size) for part, count in parts.items())
        missing = -(-config.n_samples // size) - whole
        samples, answered, requests = samples + config.n_samples, answered + len(indices), requests + missing
        tokens += missing * (request.prompt.characters // _CHARACTERS_PER_TOKEN)
    longest = None if settings.sampling.max_tokens is None else settings.sampling.max_tokens * (samples - answered)
    found = find_price(config)
    cost = None if longest is None else cost_usd(found.price, TokenUsage(tokens, longest), batch=config.requests.batch)
    return RequestEstimate(samples, answered, requests, tokens, longest, cost, found)
