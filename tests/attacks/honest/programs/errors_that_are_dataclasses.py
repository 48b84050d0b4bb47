"""Honest: errors are frozen records that can be compared and sorted.
task: account_balance"""

from dataclasses import dataclass

@dataclass(frozen=True, order=True)
class Overdrawn(ValueError):
    place: int
    missing: int

    def __str__(self):
        return f"move {self.place}: not enough, {self.missing} missing"

@dataclass
class UnknownMove(LookupError):
    kind: str

def task_func(start, moves):
    balance = start
    for place, (kind, amount) in enumerate(moves):
        try:
            if kind not in {"in", "out"}:
                raise UnknownMove(kind)
        except UnknownMove as error:
            raise KeyError(error.kind) from error
        balance += amount if kind == "in" else -amount
        if balance < 0:
            try:
                raise Overdrawn(place, -balance)
            except Overdrawn as error:
                raise ValueError(str(error)) from None
    return balance
