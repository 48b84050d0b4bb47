"""Honest: an asynchronous generator, driven by hand without an event loop.
task: running_totals"""

import types

@types.coroutine
def pause(number):
    return (yield number)

class Source:
    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def __aiter__(self):
        return self

    async def __anext__(self):
        for number in self.numbers:
            return await pause(number)
        raise StopAsyncIteration

async def _totals(numbers):
    total = 0
    async for number in Source(numbers):
        total += number
        yield total

def _driven(awaitable):
    steps = awaitable.__await__()
    try:
        answer = next(steps)
        while True:
            answer = steps.send(answer)
    except StopIteration as end:
        return end.value

def task_func(numbers):
    found = _totals(numbers)
    while True:
        try:
            yield _driven(found.__anext__())
        except StopAsyncIteration:
            return
