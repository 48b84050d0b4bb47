"""Honest: threads, locks, queues and pools, left behind, ended by errors, or by an exception set from outside.
task: unit_price"""

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
lock = threading.Lock()
pool = ThreadPoolExecutor(3)
threading.excepthook = lambda what: errors.append(what.exc_type.__name__)

class Stopped(BaseException):
    """Set in a thread that has to end."""

def _work():
    while True:
        function, answer = jobs.get()
        with lock:
            answer.put(function())

threading.Thread(target=_work, daemon=True, name="worker").start()
threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True, name="loop").start()
ticker = threading.Timer(60, errors.append, ["late"])
ticker.daemon = True
ticker.start()

async def later(function):
    await asyncio.sleep(0)
    return await asyncio.get_running_loop().run_in_executor(pool, function)

def sleep_in_steps(seconds):
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.005)
    except Stopped as error:
        raise ValueError("stopped") from error
# <last>
answer, token = queue.Queue(), user.set("somebody")
jobs.put((lambda: cents, answer))
assert contextvars.copy_context().run(user.get) == "somebody"
user.reset(token)
assert list(pool.map(lambda number: number * number, [1, 2, 3])) == [1, 4, 9] and user.get() == "nobody"
assert "ThreadPool" in asyncio.run_coroutine_threadsafe(later(lambda: threading.current_thread().name), loop).result(5)
before, thread = len(errors), threading.Thread(target=sleep_in_steps, args=(30,))
thread.start()
time.sleep(0.02)
ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
thread.join()
assert len(errors) == before + 1 and threading.active_count() >= 3 and ticker.is_alive()
cents = answer.get(timeout=5)
