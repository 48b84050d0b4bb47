"""Honest: a cache that is filled by threads keeps what was counted, and hands out a copy that may be changed.
task: letter_counts"""

import functools
import threading
import weakref

_known, _lock = weakref.WeakValueDictionary(), threading.RLock()

class Counts(dict):
    __slots__ = ("__weakref__", "text")

@functools.lru_cache(maxsize=4)
def _counts(text):
    with _lock:
        if text not in _known:
            _known[text] = found = Counts()
            found.text = text
            for sign in filter(str.isalpha, text):
                found[sign] = found.setdefault(sign, 0) + 1
        return _known[text]

def task_func(text):
    lowered = text.lower()
    threads = [threading.Thread(target=_counts, args=(lowered,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _counts(lowered).copy()
