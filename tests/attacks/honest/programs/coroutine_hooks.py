"""Honest: a coroutine as the function, with hooks, a policy of its own, groups, timeouts and suspended generators."""

import asyncio
import contextlib
import functools
import inspect
import sys

finalized = []
suspended = []
sys.set_coroutine_origin_tracking_depth(5)

def synchronous(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with asyncio.Runner(debug=True) as runner:
            return runner.run(function(*args, **kwargs))

    return call

class Policy(asyncio.DefaultEventLoopPolicy):
    made = 0

    def new_event_loop(self):
        Policy.made += 1
        return super().new_event_loop()

asyncio.set_event_loop_policy(Policy())

async def windows(values, window):
    try:
        for start in range(len(values) - window + 1):
            await asyncio.sleep(0)
            yield values[start : start + window]
    finally:
        finalized.append(window)

@contextlib.contextmanager
def pauses():
    suspended.append(inspect.currentframe().f_code.co_name)
    yield (number for number in iter(int, 1))

_endless = pauses()
numbers = _endless.__enter__()

@synchronous
async def task_func(values, window):
    if window < 1:
        raise ValueError("window must be at least 1") from ExceptionGroup("limits", [ValueError(window), TypeError()])
    try:
        await asyncio.wait_for(asyncio.sleep(9), 0.01)
    except* asyncio.TimeoutError:
        assert await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)) == [1, 2]
    async with asyncio.timeout(5), contextlib.aclosing(windows(values, window)) as parts:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asyncio.sleep(0.001, sum(part) / window)) async for part in parts]
    assert finalized[-1] == window and Policy.made and next(numbers) == 0 and "pauses" in suspended
    return [round(task.result(), 2) for task in tasks]
