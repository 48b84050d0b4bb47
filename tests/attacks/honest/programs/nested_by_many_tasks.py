"""Honest: each part is awaited as a task with a context of its own, which knows how deep it is.
task: nested_total"""

import asyncio
import contextvars

_level = contextvars.ContextVar("level", default=0)

async def _found(tree):
    if not isinstance(tree, list):
        return tree, _level.get()
    depth = _level.get() + 1
    _level.set(depth)
    tasks = [asyncio.create_task(_found(one), context=contextvars.copy_context()) for one in tree]
    parts = [await task for task in tasks]
    return sum(total for total, _ in parts), max((deep for _, deep in parts), default=depth)

def task_func(tree):
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_found(tree))
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
