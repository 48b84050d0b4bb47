"""Honest: dataclasses with slots are taken apart by structural patterns, recursively.
task: merged_spans"""

from dataclasses import KW_ONLY, InitVar, astuple, dataclass, field

@dataclass(slots=True, order=True)
class Span:
    start: int
    end: int
    _: KW_ONLY
    strict: InitVar[bool] = False
    size: int = field(init=False, compare=False, repr=False)

    def __post_init__(self, strict):
        self.size = self.end - self.start
        if strict and self.size < 0:
            raise ValueError(f"{self} ends before it starts")

def joined(done, left):
    while left:
        match done, left:
            case [*before, Span(start, end)], [Span(start=low, end=high), *others] if low <= end:
                done, left = [*before, Span(start, max(end, high))], others
            case [*_], [first, *others]:
                done, left = [*done, first], others
    return done

def task_func(spans):
    return [astuple(span)[:2] for span in joined([], sorted(Span(*pair, strict=True) for pair in spans))]
