"""What answers cost by the providers' list prices; unknown where a model has none, never 0."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.errors import ConfigError, GenerationError
from bigcodeflow.core.paths import shipped, user_path
from bigcodeflow.generation.answer_ledger import requests_by_answer
from bigcodeflow.generation.model_api import TokenUsage
from bigcodeflow.generation.model_settings import ModelSettings, ledger_of, provider_and_model

_CHARACTERS_PER_TOKEN = 4
#: Prices that are older are still used, and said to be old.
_FRESH_DAYS = 90
#: Providers that charge by another one's list.
_SAME_LIST: Mapping[str, str] = {"openai-responses": "openai"}
_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Price(_Table):
    """Price of some models of a provider, in USD per million tokens."""

    provider: str
    models: tuple[str, ...] = Field(min_length=1)
    """Names or patterns with ? and *."""
    input: _Usd
    output: _Usd
    """Tokens written, reasoning included."""
    cached_input: _Usd | None = None
    """Tokens read from the provider's cache; None takes the price of input."""
    batch: Annotated[float, Field(gt=0, le=1)] | None = None
    """Factor of the batch API; None where there is none, or none is known."""
    until: dt.date | None = None
    """Last day of a price that the provider limits; unknown after it."""


class PriceList(_Table):
    as_of: dt.date
    """When the prices were published so."""
    prices: tuple[Price, ...]

    def find(self, provider: str, model: str, today: dt.date | None = None) -> Price | None:
        """The price of a model, by the longest pattern that fits; None where none does, or none holds any more."""
        today = today or dt.datetime.now(dt.UTC).date()
        valid = (price for price in self.prices if price.until is None or today <= price.until)
        prices = [price for price in valid if price.provider == provider]
        fitting = [(price, len(pattern)) for price in prices for pattern in price.models if fnmatchcase(model, pattern)]
        return max(fitting, key=itemgetter(1))[0] if fitting else None


def load_prices(path: str | Path | None = None) -> PriceList:
    """The shipped prices, or those of a file in the same form."""
    file = shipped("configs/prices/published.yaml") if path is None else user_path(path)
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


class FoundPrice(NamedTuple):
    price: Price | None
    """None where no list names the model."""
    as_of: dt.date | None = None
    note: str = ""
    """That the price is old, in words for people; empty where it is not."""


def find_price(config: GenerationConfig, today: dt.date | None = None) -> FoundPrice:
    """The price of the settings' model: of the user's own file where that names it, else of the shipped one."""
    provider, model = provider_and_model(config)
    own, today = config.requests.prices, today or dt.datetime.now(dt.UTC).date()
    names = dict.fromkeys((provider, _SAME_LIST.get(provider, provider)))
    for file in filter(None, (own, "configs/prices/published.yaml")):
        prices = load_prices(own) if file == own else load_prices()
        price = next(filter(None, (prices.find(name, model, today) for name in names)), None)
        if price is not None:
            days = (today - prices.as_of).days
            remedy = "check them against the provider's, and state your own with generation.requests.prices"
            note = f"the prices in {file} are {days} days old (of {prices.as_of}): {remedy}"
            return FoundPrice(price, prices.as_of, note if days > _FRESH_DAYS else "")
    return FoundPrice(None)


def cost_usd(price: Price | None, usage: TokenUsage, *, batch: bool = False) -> float | None:
    """What a reply cost, in USD, by the batch API's price where it came from that; None where something is unknown."""
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if batch and price.batch is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars = (
        (usage.prompt_tokens - cached) * price.input + cached * cached_price + usage.completion_tokens * price.output
    )
    return dollars / 1_000_000 * (price.batch if batch and price.batch is not None else 1)


ReplyPrice = Callable[[TokenUsage], float | None]
"""US dollars of a reply by its tokens; None where unknown."""


class Spending:
    """Money of one run: what came is spent, and what is under way is set aside as it may get.

    A request counts with its longest possible answer until its reply says what it was, so that the limit holds wherever
    answers have one (max_tokens). What a request without an answer cost, nobody says: it counts nothing.
    """

    def __init__(self, price: ReplyPrice | None, max_cost_usd: float | None, spent_usd: float = 0.0) -> None:
        self._price, self._limit_usd = price, inf if max_cost_usd is None else max_cost_usd
        self._unpriced_usd = self._reserved_usd = 0.0
        self.cost_usd: float | None = spent_usd or None
        """Price of the replies of which it is known; None where none is."""

    def of(self, usage: TokenUsage) -> float | None:
        return self._price and self._price(usage)

    def expected(self, usage: TokenUsage) -> float:
        """What a request may cost; 0 where nothing limits the cost."""
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
        """Set aside what a request may cost that goes now; less than 0 gives it back when the request has ended."""
        self._reserved_usd += expected_usd

    def spend(self, cost: float | None, expected_usd: float) -> None:
        """Count a reply; one of unknown price counts against the limit as it was expected."""
        if cost is None:
            self._unpriced_usd += expected_usd
        else:
            self.cost_usd = (self.cost_usd or 0.0) + cost

    @property
    def limit_reached(self) -> str:
        spent_usd = (self.cost_usd or 0.0) + self._unpriced_usd
        spent = f"{spent_usd:.4f} of {self._limit_usd:g} US dollars are spent"
        return f"max_cost_usd: {spent}, and one more answer may cost more"


class RequestEstimate(NamedTuple):
    samples: int
    known: int
    """Of these, answered by earlier runs."""
    requests: int
    """That are still to be sent."""
    prompt_tokens: int
    """Of those, at about four characters a token."""
    most_completion_tokens: int | None
    """If every answer is as long as it may be; None where that has no limit."""
    most_cost_usd: float | None
    """By the list price; None where there is none."""
    price: FoundPrice


def estimate_requests(
    settings: ModelSettings, tasks: Sequence[Mapping[str, Any]], answers_folder: Path
) -> RequestEstimate:
    config = settings.config
    known = ledger_of(config, answers_folder).keys()
    wanted = requests_by_answer(settings.requests(tasks))
    missing = {id(request): request for key, request in wanted.items() if key not in known}.values()
    tokens = sum(request.prompt.characters // _CHARACTERS_PER_TOKEN for request in missing)
    left = sum(key not in known for key in wanted)
    longest = None if settings.sampling.max_tokens is None else settings.sampling.max_tokens * left
    found = find_price(config)
    cost = None if longest is None else cost_usd(found.price, TokenUsage(tokens, longest), batch=config.requests.batch)
    return RequestEstimate(len(wanted), len(wanted) - left, len(missing), tokens, longest, cost, found)
