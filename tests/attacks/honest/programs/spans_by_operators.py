"""Honest: spans are joined by operators of a class with a total order; a sum of spans is a list.
task: merged_spans"""

import functools

@functools.total_ordering
class Span:
    __slots__ = ("start", "end")

    def __init__(self, start, end):
        if end < start:
            raise ValueError((start, end))
        self.start, self.end = start, end

    def __eq__(self, other):
        return tuple(self) == tuple(other)

    def __lt__(self, other):
        return tuple(self) < tuple(other)

    def __iter__(self):
        yield from (self.start, self.end)

    def __and__(self, other):
        return other.start <= self.end and self.start <= other.end

    def __ior__(self, other):
        self.start, self.end = min(self.start, other.start), max(self.end, other.end)
        return self

    def __radd__(self, spans):
        if spans and spans[-1] & self:
            spans[-1] |= self
        else:
            spans.append(self)
        return spans

def task_func(spans):
    return [tuple(span) for span in sum(sorted(Span(*pair) for pair in spans), [])]
