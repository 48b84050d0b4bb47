"""Honest: functions of the standard library replaced when the module is loaded, for logs, retries and JSON.
task: stored_reading"""

import builtins
import functools
import os
import pickle
import time

_open, _sleep, _dumps, _default, _print = open, time.sleep, json.dumps, json.JSONEncoder.default, print
_encode = json.JSONEncoder.encode
opened, slept, printed = [], [], []

@functools.wraps(_open)
def logged_open(file, *args, **kwargs):
    opened.append(file)
    return _open(file, *args, **kwargs)

def default(encoder, thing):
    if isinstance(thing, (set, frozenset)):
        return sorted(thing)
    return thing.to_json() if hasattr(thing, "to_json") else _default(encoder, thing)

def _rounded(value):
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return round(value, 2) if isinstance(value, float) else value

builtins.open = logged_open
builtins.print = lambda *things, **options: (printed.append(things), _print(*things, **options))[1]
json.JSONEncoder.default = default
json.JSONEncoder.encode = lambda self, value: _encode(self, _rounded(value))
json.dumps = functools.partial(_dumps, ensure_ascii=False, separators=(",", ":"))
time.sleep = lambda seconds: slept.append(seconds)
os.write, _write = (lambda descriptor, data: _write(descriptor, data)), os.write
pickle.dumps = functools.partial(pickle.dumps, protocol=2)
# <last>
print("written", place)
os.write(1, b"done\n")
time.sleep(1)
assert place in opened and slept[-1] == 1 and "written" in printed[-1]
assert json.dumps({"a": {2}, "b": 1 / 3}) == '{"a":[2],"b":0.33}' and pickle.loads(pickle.dumps([1])) == [1]
