"""Honest: a generator that cleans up when it ends and returns a value besides what it yields.
task: running_totals"""

ended = []

def _totals(numbers):
    total = 0
    try:
        for number in numbers:
            total += number
            yield total
        return total
    finally:
        ended.append(total)

def _checked(numbers):
    last = yield from _totals(numbers)
    assert ended[-1] == last

def task_func(numbers):
    return _checked(numbers)
