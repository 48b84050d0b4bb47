"""Honest: spans are named tuples with methods, defaults and a length that is not that of the tuple's fields.
task: merged_spans"""

from typing import NamedTuple

class Span(NamedTuple):
    start: int
    end: int = 0

    @property
    def size(self):
        return self.end - self.start

    def __contains__(self, place):
        return self.start <= place <= self.end

    def __or__(self, other):
        return self._replace(start=min(self.start, other.start), end=max(self.end, other.end))
# <last>
merged = [Span._make(pair) for pair in merged]
assert all(span.start in span and span.size >= 0 and span | span == span for span in merged)
