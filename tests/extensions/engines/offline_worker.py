"""A worker without a model, over the real protocol: what it does with a request is the request's own text.

``say TEXT`` answers with TEXT and the request's seeds; the others are faults, see `_OBEY`.
"""

# ruff: noqa: T201 (engines print too)

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).parents[3] / "extensions" / "bigcodeflow_engines" / "workers"
sys.path.insert(0, str(FOLDER))
protocol = importlib.import_module("worker_protocol")


class Double:
    name, commit = "double 1", "c0ffee"

    def __init__(self, job) -> None:
        print("loading", job.model)
        if job.model.startswith("broken:"):
            _, kind, text = job.model.split(":", 2)
            raise type(kind, (Exception,), {})(text)

    def answer(self, requests):
        for asked in requests:
            order, _, rest = asked.text.partition(" ")
            yield from _OBEY[order](asked, rest)


def _say(asked, rest):
    texts = [rest if seed is None else f"{rest} {seed}" for seed in asked.seeds]
    yield protocol.Answered(asked.id, 7, 0.5, [protocol.WorkerSample(text, "stop", 3) for text in texts])


def _tell(asked, rest):
    """What only the worker knows: its process, and its environment."""
    text = str(os.getpid()) if rest == "pid" else repr(dict(os.environ))
    yield protocol.Answered(asked.id, 7, 0.5, [protocol.WorkerSample(text, "stop", 3)])


def _fork(asked, rest):
    """Leave a process behind that holds everything open, in the same group, and say which."""
    child = os.fork()
    if not child:
        time.sleep(600)
        os._exit(0)
    yield protocol.Answered(asked.id, 7, 0.5, [protocol.WorkerSample(str(child), "stop", 3)])


def _reject(asked, rest):
    yield protocol.Rejected(asked.id, rest)


def _twice(asked, rest):
    yield from _say(asked, rest)
    yield from _say(asked, rest)


def _too_few(asked, rest):
    yield protocol.Answered(asked.id, 7, 0.5, [])


def _forget(asked, rest):
    yield from ()


def _print(asked, rest):
    """As engines do: from Python, from a child, half a line, and something that looks like a message."""
    print('{"event": "ended"}')
    subprocess.run(["echo", "progress 50%"], check=True)
    sys.stderr.write("no line break")
    yield from _say(asked, rest)


def _die(asked, rest):
    print("about to die")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
    yield


def _tear(asked, rest):
    os.write(int(sys.argv[1]), b'{"event": "answered", "id": 0, "prompt_tokens": 1, "answers": [')
    os._exit(3)
    yield


def _wait(asked, rest):
    time.sleep(600)
    yield


def _raise(asked, rest):
    raise MemoryError(rest)
    yield


_OBEY = {
    "say": _say,
    "tell": _tell,
    "fork": _fork,
    "reject": _reject,
    "twice": _twice,
    "too_few": _too_few,
    "forget": _forget,
    "print": _print,
    "die": _die,
    "tear": _tear,
    "wait": _wait,
    "raise": _raise,
}


if __name__ == "__main__":
    protocol.serve(Double, lambda job: SimpleNamespace(chat_template="talks" in job.model).__dict__)
