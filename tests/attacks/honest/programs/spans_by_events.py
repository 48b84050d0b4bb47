"""Honest: starts and ends are events of an enumeration with an order of its own; a running sum finds the gaps.
task: merged_spans"""

import enum
import itertools

class Event(enum.IntEnum):
    START = -1
    END = 1

    @property
    def change(self):
        return -self

def task_func(spans):
    events = []
    for start, end in spans:
        if end < start:
            raise ValueError("a span ends before it starts")
        events += [(start, Event.START), (end, Event.END)]
    events.sort()
    open_spans = itertools.accumulate(event.change for _, event in events)
    merged, start = [], None
    for (place, event), count in zip(events, open_spans):
        start = place if start is None else start
        if event is Event.END and count == 0:
            merged.append((start, place))
            start = None
    return merged
