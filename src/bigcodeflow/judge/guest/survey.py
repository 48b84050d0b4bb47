"""Script for a sandbox: import each module of NAMES in a separate process; print the loaded modules and their cost.

One JSON line per name: the name, the modules that its import loaded, and the CPU seconds of each.
"""

import json
import os
import sys
import time

TYPE_CHECKING = False  # importing typing would change the measurement
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_SECONDS_EACH = 60

NAMES: list[str]  # its value is inserted before this text


def measure(name: str) -> None:
    """Import a module in this process; print the loaded modules and their CPU seconds."""
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
