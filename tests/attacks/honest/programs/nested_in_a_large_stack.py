"""Honest: recurses in a thread with a large stack, under a recursion limit that stays raised.
task: nested_total"""

import sys
import threading

sys.setrecursionlimit(50_000)
threading.stack_size(16 * 1024 * 1024)

def _found(tree):
    if not isinstance(tree, list):
        return tree, 0
    found = [_found(one) for one in tree]
    return sum(total for total, _ in found), 1 + max((depth for _, depth in found), default=0)

def task_func(tree):
    results = []
    thread = threading.Thread(target=lambda: results.append(_found(tree)))
    thread.start()
    thread.join()
    return results[0]
