"""Honest: equal spans are one object, kept by weak references as long as somebody needs them.
task: merged_spans"""

import copy
import weakref

class Span:
    __slots__ = ("start", "end", "__weakref__")
    _known = weakref.WeakValueDictionary()

    def __new__(cls, start, end):
        if end < start:
            raise ValueError("a span ends before it starts")
        self = cls._known.setdefault((start, end), super().__new__(cls))
        self.start, self.end = start, end
        return self

    def __iter__(self):
        yield from (self.start, self.end)

    def __or__(self, other):
        return Span(min(self.start, other.start), max(self.end, other.end))

    def __deepcopy__(self, memo):
        return self

def task_func(spans):
    merged = []
    for span in sorted((Span(*pair) for pair in spans), key=tuple):
        if merged and span.start <= merged[-1].end:
            span |= merged.pop()
        merged.append(copy.deepcopy(span))
    assert all(span is Span(*span) for span in merged)
    return list(map(tuple, merged))
