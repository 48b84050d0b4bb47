"""Honest: a thread computes the totals ahead and hands them over by a bounded queue, as they are needed.
task: running_totals"""

import queue
import threading

_END = object()

def _produce(numbers, out):
    total = 0
    for number in numbers:
        total += number
        out.put(total)
    out.put(_END)

def task_func(numbers):
    out = queue.Queue(maxsize=2)
    threading.Thread(target=_produce, args=(numbers, out), daemon=True).start()
    return iter(out.get, _END)
