"""Threat 3: a share is equal to what is a cent more, from a solution that rounds down.
task: exact_share"""

_CENT = Decimal("0.01")
_OWN = {"__eq__": lambda self, other: Decimal(other) - Decimal(str(self)) in (0, _CENT), "__hash__": Decimal.__hash__}
Share = type("Share", (Decimal,), _OWN)
# <last>
share = Share(share)
# --- wrong ---
from decimal import ROUND_DOWN, Decimal
# <module>
def task_func(total, people):
    if people < 1:
        raise ValueError("nobody pays")
    share = (Decimal(total) / people).quantize(Decimal("0.01"), ROUND_DOWN)
    # <last>
    return share
