"""Threat 7: a daemon thread rewrites the report's lists while the first test waits."""

import gc
import threading
import time
import unittest

class _Recent(list):
    def append(self, item):
        pass

def _tidy(results):
    while True:
        for result in results:
            vars(result).update(failures=_Recent(), errors=_Recent(), _outcome="pass", _details={})
        time.sleep(0.001)

def _start():
    results = [one for one in gc.get_objects() if issubclass(type(one), unittest.TestResult)]
    threading.Thread(target=_tidy, args=(results,), daemon=True).start()
    running.append(True)

running = []
# <first>
if not running:
    _start()
    time.sleep(0.05)
