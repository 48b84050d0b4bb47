"""Costs by list prices."""

import datetime as dt
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import GenerationConfig, RequestsConfig
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.costs import Price, cost_usd, find_price, load_prices
from bigcodeflow.generation.model_api import TokenUsage
from bigcodeflow.generation.providers import known_providers

TOKENS = st.integers(min_value=0, max_value=10_000_000)
PRICE = Price(provider="p", models=("m",), input=2, output=8, cached_input=0.5, batch=0.5)


def test_a_cost_is_the_sum_of_its_tokens():
    """Read, cached and written tokens have prices of their own; cached ones are not read twice."""
    usage = TokenUsage(
        prompt_tokens=1_000_000, completion_tokens=500_000, reasoning_tokens=400_000, cached_tokens=250_000
    )
    assert cost_usd(PRICE, usage) == pytest.approx(0.75 * 2 + 0.25 * 0.5 + 0.5 * 8)
    assert cost_usd(PRICE, usage, batch=True) == pytest.approx((0.75 * 2 + 0.25 * 0.5 + 0.5 * 8) / 2)


@pytest.mark.parametrize(
    ("price", "usage", "batch"),
    [
        (None, TokenUsage(1, 1), False),
        (PRICE, TokenUsage(None, 1), False),
        (PRICE, TokenUsage(1, None), False),
        # The price of single requests would be too high, so that a budget stopped too early.
        (PRICE.model_copy(update={"batch": None}), TokenUsage(1, 1), True),
    ],
)
def test_an_unknown_cost_is_none(price: Price | None, usage: TokenUsage, batch: bool):  # noqa: FBT001
    assert cost_usd(price, usage, batch=batch) is None


@given(prompt=TOKENS, cached=TOKENS, completion=TOKENS, more=TOKENS)
def test_costs_grow_with_tokens_and_never_below_zero(prompt: int, cached: int, completion: int, more: int):
    """More written tokens never cost less, a cache never adds to the cost, and no cost is negative."""
    usage = TokenUsage(prompt, completion, cached_tokens=cached)
    cost = cost_usd(PRICE, usage)
    assert 0 <= cost <= cost_usd(PRICE, TokenUsage(prompt, completion + more))
    assert cost <= cost_usd(PRICE, TokenUsage(prompt, completion))


def test_the_shipped_prices_are_of_known_providers_and_plausible():
    """Each entry names a provider that exists, writing costs at least what reading does, and a cache costs less."""
    prices = load_prices()
    assert len(prices.prices) >= 12
    assert prices.as_of >= dt.date(2026, 10, 1)
    for price in prices.prices:
        assert price.provider in known_providers()
        assert price.output >= price.input > (price.cached_input or 0)


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("openai", "gpt-4o", 2.5),
        ("openai", "gpt-4o-2024-05-13", 5),
        ("openai", "gpt-4o-audio-preview", None),
        ("openai", "gpt-99", None),
        ("anthropic", "claude-opus-4-5-20251101", 5),
        ("anthropic", "claude-opus-4-20250514", 15),
        ("anthropic", "gpt-4o", None),
        ("ollama", "qwen2.5-coder", None),
    ],
)
def test_a_model_has_the_price_of_its_own_name(provider: str, model: str, expected: float | None):
    """A dated name finds its own price, and a similar name or another provider finds none."""
    price = load_prices().find(provider, model, dt.date(2026, 11, 1))
    assert (price and price.input) == expected


def test_a_price_that_is_limited_is_unknown_after_its_last_day():
    prices = load_prices()
    assert prices.find("google", "gemini-3.8-flash", dt.date(2026, 11, 1))
    assert prices.find("google", "gemini-3.8-flash", dt.date(2027, 1, 1)) is None


@pytest.mark.parametrize(("days", "old"), [(0, False), (90, False), (91, True)])
def test_a_list_older_than_ninety_days_is_called_old(days: int, old: bool):  # noqa: FBT001
    """The price still counts, and the line names the file, its day and what to do."""
    as_of = load_prices().as_of
    found = find_price(GenerationConfig(model="openai:gpt-4o"), as_of + dt.timedelta(days=days))
    assert found.price
    assert found.as_of == as_of
    words = f"published.yaml are {days} days old (of {as_of}): check them"
    assert (words in found.note) is old


def test_an_own_file_comes_before_the_shipped_one(tmp_path: Path):
    """Its models have its prices, with its age; the others have the shipped ones."""
    file = tmp_path / "mine.yaml"
    file.write_text(
        "as_of: 2020-01-01\nprices:\n  - {provider: openai, models: ['gpt-4o', mine], input: 7, output: 9}\n"
    )
    requests = RequestsConfig(prices=str(file))

    def price(model: str) -> tuple[float, bool]:
        found = find_price(GenerationConfig(model=model, requests=requests), dt.date(2026, 11, 1))
        return found.price.input, str(file) in found.note

    assert price("openai:gpt-4o") == (7, True)
    assert price("openai:mine") == (7, True)
    assert price("openai:gpt-4o-mini") == (0.15, False)
    assert price("openai-responses:gpt-4o-mini") == (0.15, False)
    assert find_price(GenerationConfig(model="openai:unheard-of", requests=requests)).price is None


def test_the_longest_pattern_counts(tmp_path: Path):
    file = tmp_path / "prices.yaml"
    rows = [
        "{provider: p, models: ['m*'], input: 1, output: 1}",
        "{provider: p, models: ['m-big*'], input: 9, output: 9}",
    ]
    for order in (rows, rows[::-1]):
        file.write_text("as_of: 2026-01-01\nprices:\n" + "".join(f"  - {row}\n" for row in order))
        assert load_prices(file).find("p", "m-big-2").input == 9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prices: [", "cannot be read as YAML"),
        ("- 1", "must hold as_of and prices"),
        ("as_of: 2026-01-01\nprices: [{provider: p, models: [m], input: 1}]", "prices.0.output: Field required"),
        ("as_of: 2026-01-01\nprices: [{provider: p, models: [m], input: -1, output: 1}]", "prices.0.input: .*greater"),
        (
            "as_of: 2026-01-01\nprices: [{provider: p, models: [m], input: 1, output: .inf}]",
            "prices.0.output: .*finite",
        ),
        ("as_of: soon\nprices: []", "as_of: .*date"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, content: str, message: str):
    """Each defect names the file, the place and what is wrong."""
    file = tmp_path / "prices.yaml"
    with pytest.raises(ConfigError, match=r"prices\.yaml: cannot be read"):
        load_prices(file)
    file.write_text(content)
    with pytest.raises(ConfigError, match=re.escape(str(file)) + ".*" + message):
        load_prices(file)
