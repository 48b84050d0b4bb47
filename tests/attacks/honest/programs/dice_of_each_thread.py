"""Honest: each thread has a generator of its own, made when it first rolls; the calls go round a pool.
task: dice_rolls"""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

class Local(threading.local):
    def __init__(self):
        self.generator = random.Random()

_local = Local()

def task_func(count, sides=6):
    if sides < 1:
        raise ValueError("one side at least")
    with ThreadPoolExecutor(3, initializer=lambda: _local.generator.random()) as pool:
        return list(pool.map(lambda _: _local.generator.randrange(sides) + 1, range(count)))
