"""Honest: a generic class with type variables, a runtime protocol and overloads counts; its content is handed out.
task: letter_counts"""

from typing import Generic, Protocol, TypedDict, TypeVar, cast, overload, runtime_checkable

T = TypeVar("T", bound="Countable")

@runtime_checkable
class Countable(Protocol):
    def __hash__(self) -> int: ...

class Summary(TypedDict, total=False):
    a: int
    e: int

class Bag(Generic[T]):
    def __init__(self) -> None:
        self.content: dict[T, int] = {}

    @overload
    def add(self, thing: T) -> "Bag[T]": ...
    @overload
    def add(self, thing: T, times: int) -> "Bag[T]": ...
    def add(self, thing, times=1):
        assert isinstance(thing, Countable)
        self.content[thing] = self.content.get(thing, 0) + times
        return self

    def __class_getitem__(cls, kind):
        return super().__class_getitem__(kind)

def task_func(text: str) -> Summary:
    bag = Bag[str]()
    for sign in text.lower():
        if sign.isalpha():
            bag.add(sign)
    return cast(Summary, bag.content)
