"""Honest: computes with the decimal module that is written in Python, loaded beside the fast one.
task: exact_share"""

import _pydecimal
import decimal

def task_func(total, people):
    if people < 1:
        raise ValueError("nobody pays")
    with _pydecimal.localcontext() as context:
        context.prec = 50
        share = _pydecimal.Decimal(total) / people
        share = share.quantize(_pydecimal.Decimal("0.01"), rounding=_pydecimal.ROUND_HALF_UP)
    return decimal.Decimal(str(share))
