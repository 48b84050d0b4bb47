"""Honest: tuples of a class that checks them as they are made, compares with pairs of any kind and is hashed by size.
task: merged_spans"""

class Span(tuple):
    def __new__(cls, start, end):
        if end < start:
            raise ValueError(f"{end} is before {start}")
        return super().__new__(cls, (start, end))

    def __getnewargs__(self):
        return tuple(self)

    def __eq__(self, other):
        return len(other) == 2 and all(mine == one for mine, one in zip(self, other))

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self[1] - self[0])

def task_func(spans):
    merged = []
    for start, end in sorted({Span(*pair) for pair in spans}):
        if merged and start <= merged[-1][1]:
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append(Span(start, end))
    return merged
