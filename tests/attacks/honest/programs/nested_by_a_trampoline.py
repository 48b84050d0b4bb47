"""Honest: recursive generators that yield the calls they need to a loop, and raise their results.
task: nested_total"""

class Result(Exception):
    """What a generator found; raised as it is no error."""

def _found(tree):
    if not isinstance(tree, list):
        raise Result(tree, 0)
    total, depth = 0, 0
    for one in tree:
        part = yield _found(one)
        total, depth = total + part[0], max(depth, part[1])
    return total, depth + 1

def task_func(tree):
    calls, answer = [_found(tree)], None
    while calls:
        try:
            calls.append(calls[-1].send(answer))
            answer = None
        except Result as found:
            answer = found.args
            calls.pop()
        except StopIteration as end:
            answer = end.value
            calls.pop()
    return answer
