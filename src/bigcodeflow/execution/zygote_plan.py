"""Chooses which zygotes are worth having, and which of them each item is forked from.

A zygote serves an item only if everything it has loaded is what the item's own first imports load: the item then
starts as if it had started cold, and no library is there that it did not ask for.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from operator import or_

from bigcodeflow.execution.survey import ImportSurvey

Modules = tuple[str, ...]

_MOST_ZYGOTES = 40
_MOST_CANDIDATES = 250
_MOST_PAIRS = 60
#: CPU that a zygote has to save over the whole run, beyond what its own imports cost.
_LEAST_GAIN_SECONDS = 0.15
_FORK_SECONDS = 0.03
#: Executions to expect of an item: its own and, where it passes, that of its check.
_EXECUTIONS_PER_ITEM = 2


def plan_zygotes(preloads: Iterable[Modules], survey: ImportSurvey) -> dict[Modules, Modules]:
    """For each distinct preload the modules of the zygote that serves it: sorted, and empty for a bare one.

    The zygotes are chosen one by one, each the one that saves most CPU time after those before it.
    """
    wanted = Counter(preloads)
    sets = _ModuleSets(survey)
    closures = {preload: sets.closure(with_packages(preload)) for preload in wanted}
    demand: Counter[int] = Counter()
    for preload, times in wanted.items():
        demand[closures[preload]] += _EXECUTIONS_PER_ITEM * times
    chosen = _choose(demand, sets)
    best = {closure: _largest(chosen, closure, sets) for closure in demand}
    names = {zygote: tuple(sorted(sets.importable(zygote))) for zygote in [*chosen, 0]}
    return {preload: names[best[closure]] for preload, closure in closures.items()}


def with_packages(names: Iterable[str]) -> set[str]:
    """The modules, and the packages that hold them, which their import imports too."""
    return {".".join(parts[:end]) for parts in (name.split(".") for name in names) for end in range(1, len(parts) + 1)}


class _ModuleSets:
    """Sets of modules as the bits of a number: thousands of them are compared with one another."""

    def __init__(self, survey: ImportSurvey) -> None:
        modules = sorted(frozenset().union(*survey.loads.values()))
        self._bits = {module: 1 << number for number, module in enumerate(modules)}
        self._seconds = [survey.seconds.get(module, 0.0) for module in modules]
        self._loads = {name: sum(self._bits[module] for module in found) for name, found in survey.loads.items()}
        self.cost_seconds = cache(self._cost_seconds)

    def closure(self, names: Iterable[str]) -> int:
        """Everything that is loaded once these are imported."""
        return reduce(or_, (self._loads.get(name, 0) for name in names), 0)

    def importable(self, closure: int) -> list[str]:
        """Surveyed names in the set whose import loads nothing beyond it."""
        return [
            name
            for name, loaded in self._loads.items()
            if loaded and self._bits.get(name, 0) & closure and not loaded & ~closure
        ]

    def _cost_seconds(self, closure: int) -> float:
        digits = bin(closure)[:1:-1]
        return sum(seconds for seconds, digit in zip(self._seconds, digits, strict=False) if digit == "1")


def _choose(demand: Mapping[int, int], sets: _ModuleSets) -> list[int]:
    cost = sets.cost_seconds
    weighty = sorted(demand, key=lambda closure: -demand[closure] * cost(closure))[:_MOST_CANDIDATES]
    candidates = _candidates(weighty, sets)
    serves = {candidate: [one for one in weighty if not candidate & ~one] for candidate in candidates}
    saved = dict.fromkeys(weighty, 0.0)
    chosen: list[int] = []

    def gain(candidate: int) -> float:
        own = cost(candidate)
        base = max((cost(zygote) for zygote in chosen if not zygote & ~candidate), default=0.0)
        worth = sum(demand[one] * (own - saved[one]) for one in serves[candidate] if own > saved[one])
        return worth - (own - base) - _FORK_SECONDS

    while candidates and len(chosen) < _MOST_ZYGOTES:
        best = max(candidates, key=gain)
        if gain(best) < _LEAST_GAIN_SECONDS:
            break
        candidates.remove(best)
        chosen.append(best)
        for one in serves[best]:
            saved[one] = max(saved[one], cost(best))
    return chosen


def _candidates(closures: Sequence[int], sets: _ModuleSets) -> list[int]:
    """What the weightiest items load, and what pairs of them have in common, as far as it can be imported by name."""
    found = dict.fromkeys(closures)
    top = closures[:_MOST_PAIRS]
    shared = {one & other for number, one in enumerate(top) for other in top[:number]}
    found.update(dict.fromkeys(sets.closure(sets.importable(common)) for common in sorted(shared)))
    return [candidate for candidate in found if candidate]


def _largest(zygotes: Iterable[int], closure: int, sets: _ModuleSets) -> int:
    return max((zygote for zygote in zygotes if not zygote & ~closure), key=sets.cost_seconds, default=0)
