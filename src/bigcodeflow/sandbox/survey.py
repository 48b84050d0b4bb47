"""Runs inside the sandbox: imports each of NAMES in a process of its own and prints what that loaded and cost.

A line a module: its name, every module that is there afterwards and was not before, and the CPU seconds of each.
"""

import json
import os
import sys
import time

TYPE_CHECKING = False  # typing itself would be among what is measured
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_SECONDS_EACH = 60

NAMES: list[str]  # put in front of this text


def measure(name: str) -> None:
    """Import in this process, and print."""
    importlib = vars(sys.modules["_frozen_importlib"])
    load = importlib["_load_unlocked"]
    running: list[float] = []
    seconds: dict[str, float] = {}

    def timed(spec: "ModuleSpec") -> object:
        began = time.thread_time()
        running.append(0.0)
        try:
            return load(spec)
        finally:
            whole = time.thread_time() - began
            seconds[spec.name] = whole - running.pop()
            if running:
                running[-1] += whole

    importlib["_load_unlocked"] = timed
    before = set(sys.modules)
    __import__(name)
    found = [module for module in sys.modules if module not in before]
    sys.stdout.write("\n" + json.dumps([name, found, seconds]) + "\n")
    sys.stdout.flush()


for name in NAMES:  # noqa: F821 -- only declared here
    pid = os.fork()
    if pid == 0:
        import signal

        signal.alarm(_SECONDS_EACH)
        try:
            measure(name)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
