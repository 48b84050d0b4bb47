"""What answers cost, and how much may still be spent."""

from collections.abc import Callable

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.exchange import Usage

Price = Callable[[Usage, str | None], float | None]
"""US dollars of a reply by its tokens and the served model (None before there is a reply); None where unknown."""


class Spending:
    """Money of one run: what came is spent, and what is under way is set aside as it may get.

    A request counts with its longest possible answer until its reply says what it was, so that the limit holds wherever
    answers have one (max_tokens). What a request without an answer cost, nobody says: it counts nothing.
    """

    def __init__(self, price: Price | None, max_cost_usd: float | None) -> None:
        self._price, self._limit_usd = price, max_cost_usd
        self._known_usd = self._presumed_usd = self._reserved_usd = 0.0
        self._priced = False

    @property
    def cost_usd(self) -> float | None:
        """Price of the replies of which it is known; None where none is."""
        return self._known_usd if self._priced else None

    def of(self, usage: Usage, served_model: str | None) -> float | None:
        """Price of a reply."""
        return None if self._price is None else self._price(usage, served_model)

    def expected(self, usage: Usage) -> float:
        """What a request may cost; 0 where nothing limits the cost.

        Raises:
            GenerationError: cost is limited, and no price is known.
        """
        if self._limit_usd is None:
            return 0.0
        cost_usd = self.of(usage, None)
        if cost_usd is None:
            raise GenerationError(
                f"max_cost_usd is {self._limit_usd:g}, but no price is known for this model: "
                "state its price, or run without max_cost_usd"
            )
        return cost_usd

    def has_room(self, expected_usd: float) -> bool:
        """Whether one more request may go."""
        if self._limit_usd is None:
            return True
        spent_usd = self._known_usd + self._presumed_usd + self._reserved_usd
        return spent_usd + expected_usd <= self._limit_usd * (1 + 1e-9)  # sums of floats are not exact

    def reserve(self, expected_usd: float) -> None:
        """Set aside what a request may cost that goes now."""
        self._reserved_usd += expected_usd

    def release(self, expected_usd: float) -> None:
        """Give back what was set aside for a request that has ended."""
        self._reserved_usd -= expected_usd

    def spend(self, cost_usd: float | None, expected_usd: float) -> None:
        """Count a reply; one of unknown price counts against the limit as it was expected."""
        if cost_usd is None:
            self._presumed_usd += expected_usd
        else:
            self._known_usd += cost_usd
            self._priced = True

    @property
    def limit_reached(self) -> str:
        """Says that the limit ends the run."""
        spent_usd = self._known_usd + self._presumed_usd
        limit_usd = self._limit_usd or 0.0
        return f"max_cost_usd: {spent_usd:.4f} of {limit_usd:g} US dollars are spent, and one more answer may cost more"
