"""Honest: threads that go on after the test, end with errors, or are ended by an exception set from outside."""

import asyncio
import contextvars
import ctypes
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

user = contextvars.ContextVar("user", default="nobody")
jobs = queue.Queue()
errors = []
pool = ThreadPoolExecutor(3)
threading.excepthook = lambda what: errors.append(what.exc_type.__name__)


class Stopped(BaseException):
    """Set in a thread that has to end."""


def _work():
    while True:
        function, answer = jobs.get()
        answer.put(function())


threading.Thread(target=_work, daemon=True, name="worker").start()
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True, name="loop").start()
ticker = threading.Timer(60, errors.append, ["late"])
ticker.daemon = True
ticker.start()


def task_func(function):
    """Return what the function returns in a worker thread, in a pool and in the event loop of another thread."""
    answer = queue.Queue()
    jobs.put((function, answer))

    async def later():
        await asyncio.sleep(0)
        return await asyncio.get_running_loop().run_in_executor(pool, function)

    token = user.set("somebody")
    try:
        inside = contextvars.copy_context().run(user.get)
    finally:
        user.reset(token)
    return answer.get(timeout=5), pool.submit(function).result(5), asyncio.run_coroutine_threadsafe(later(), loop).result(5), inside


def stop(seconds):
    """Start a thread that sleeps in short steps for that long, end it by an exception, and return the error's name."""
    seen = []

    def sleep():
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(0.005)
        except Stopped as error:
            seen.append(type(error).__name__)
            raise ValueError("stopped") from error

    thread = threading.Thread(target=sleep)
    thread.start()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
    thread.join()
    return seen


# --- tests ---
import threading
import unittest


class TestCases(unittest.TestCase):
    def test_everywhere(self):
        self.assertEqual(task_func(lambda: 7), (7, 7, 7, "somebody"))

    def test_names(self):
        names = task_func(lambda: threading.current_thread().name)
        self.assertEqual(names[0], "worker")
        self.assertIn("ThreadPoolExecutor", names[1])

    def test_stopped(self):
        before = len(errors)
        self.assertTrue(len(stop(30)) <= 1)
        self.assertEqual(len(errors), before + 1)
        self.assertEqual(user.get(), "nobody")

    def test_alive(self):
        self.assertGreaterEqual(threading.active_count(), 3)
        self.assertTrue(ticker.is_alive())
