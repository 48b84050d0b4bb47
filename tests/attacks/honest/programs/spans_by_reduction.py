"""Honest: a fold over the sorted spans by a class whose instances are functions with a changing signature.
task: merged_spans"""

import functools
import inspect

class Join:
    def __init__(self, distance=0):
        self.distance = distance

    def __call__(self, done, span):
        (*before, last), (start, end) = done or [None], span
        if last and start - last[1] <= self.distance:
            return [*before, (last[0], max(last[1], end))]
        return [*done, (start, end)]

    @property
    def __signature__(self):
        return inspect.signature(self.__call__)

    def __get__(self, instance, owner):
        return self if instance is None else functools.partial(self, instance)

def task_func(spans):
    assert list(inspect.signature(Join()).parameters) == ["done", "span"]
    for start, end in spans:
        if start > end:
            raise ValueError((start, end))
    return functools.reduce(Join(), sorted(spans), [])
