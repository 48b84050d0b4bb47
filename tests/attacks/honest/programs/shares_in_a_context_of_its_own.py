"""Honest: a decimal context with other rounding, precision and traps becomes that of the process and of new threads.
task: exact_share"""

import decimal
import threading

for context in (decimal.DefaultContext, decimal.getcontext()):
    context.prec, context.rounding = 60, decimal.ROUND_HALF_UP
    context.traps[decimal.FloatOperation] = True
    context.traps[decimal.Inexact] = False
decimal.setcontext(decimal.DefaultContext)

def task_func(total, people):
    if people < 1:
        raise ValueError("nobody pays")
    found = []
    thread = threading.Thread(target=lambda: found.append(round(decimal.Decimal(total) / people, 2)))
    thread.start()
    thread.join()
    context = decimal.getcontext()
    context.clear_flags()
    return context.quantize(decimal.Decimal(total) / people, found[0]) + 0
