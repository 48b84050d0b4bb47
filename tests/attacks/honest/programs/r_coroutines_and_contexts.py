"""Honest: async generators, hooks of coroutines, a policy of its own, exception groups and suspended generators."""

import asyncio
import contextlib
import functools
import inspect
import sys

finalized = []
suspended = []
sys.set_coroutine_origin_tracking_depth(5)


def synchronous(function):
    """Let a coroutine function be called like any other, with hooks that note its async generators."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with asyncio.Runner(debug=True) as runner:
            return runner.run(function(*args, **kwargs))

    return call


class Policy(asyncio.DefaultEventLoopPolicy):
    """Counts the event loops that are made."""

    made = 0

    def new_event_loop(self):
        Policy.made += 1
        return super().new_event_loop()


asyncio.set_event_loop_policy(Policy())


async def count(limit):
    try:
        for number in range(limit):
            await asyncio.sleep(0)
            yield number
    finally:
        finalized.append(limit)


@contextlib.contextmanager
def pauses():
    """Keep a generator suspended for as long as the module lives."""
    suspended.append(inspect.currentframe().f_code.co_name)
    yield (number for number in iter(int, 1))


_endless = pauses()
numbers = _endless.__enter__()


@synchronous
async def task_func(limit):
    """Return the numbers below the limit, gathered from two generators; an ExceptionGroup if the limit is negative."""
    if limit < 0:
        raise ExceptionGroup("limits", [ValueError(limit), TypeError("no limit")])
    async with asyncio.timeout(5), contextlib.aclosing(count(limit)) as first:
        left = [number async for number in first]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asyncio.sleep(0.001 * n, n)) for n in range(limit)]
    return list(zip(left, [task.result() for task in tasks]))


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_pairs(self):
        self.assertEqual(task_func(3), [(0, 0), (1, 1), (2, 2)])

    def test_finalized(self):
        task_func(2)
        self.assertEqual(finalized[-1], 2)
        self.assertGreaterEqual(Policy.made, 1)

    def test_group(self):
        with self.assertRaises(ExceptionGroup) as caught:
            task_func(-1)
        self.assertEqual([type(error) for error in caught.exception.exceptions], [ValueError, TypeError])

    def test_suspended(self):
        self.assertEqual(next(numbers), 0)
        self.assertIn("pauses", suspended)
