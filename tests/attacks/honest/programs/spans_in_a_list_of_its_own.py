"""Honest: a list whose class keeps itself sorted and merged, whatever is added, and refuses what does not fit.
task: merged_spans"""

import bisect

class Spans(list):
    def __init__(self, spans=()):
        super().__init__()
        self.extend(spans)

    def append(self, span):
        start, end = span
        if end < start:
            raise ValueError("a span ends before it starts")
        first = bisect.bisect_left(self, start, key=lambda one: one[1])
        last = bisect.bisect_right(self, end, key=lambda one: one[0])
        touched = [*self[first:last], (start, end)]
        super().__setitem__(slice(first, last), [(min(touched)[0], max(one[1] for one in touched))])

    def extend(self, spans):
        for span in spans:
            self.append(span)

    def __iadd__(self, spans):
        self.extend(spans)
        return self

    def __setitem__(self, place, span):
        raise TypeError("spans are added, not replaced")

def task_func(spans):
    merged = Spans(spans[:1])
    merged += spans[1:]
    return merged
