"""Detection of call records of mocks that a program writes without making the calls.

The records are compared with the observed calls. Threads may call mocks, so a lock protects all comparisons.
"""

from __future__ import annotations

import importlib
import weakref
from _thread import RLock
from operator import is_

TYPE_CHECKING = False  # importing typing costs time, and the program would see it in sys.modules
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

#: Most mocks that are kept alive: each takes some kilobytes.
_MOST_KEPT = 2000


class MockRecords:
    """Watcher of the call records of every mock that is created after this object."""

    def __init__(self) -> None:
        self._lock, self._is_changed = RLock(), False
        #: By id of a mock: a weak reference to it, its own calls, and its calls together with those of its children.
        self._seen: dict[int, tuple[weakref.ref[Any], list[Any], list[Any]]] = {}
        #: First mocks of the running test method, at most _MOST_KEPT, kept alive until the method has ended.
        self._kept: list[Any] = []
        mock: Any = importlib.import_module("unittest.mock")
        self._list = mock._CallList
        for base, name, note, concerned in (
            (mock.NonCallableMock, "__init__", self._begin, lambda _: ()),
            (mock.NonCallableMock, "reset_mock", self._begin, lambda found: [found]),
            (mock.CallableMixin, "_increment_mock_call", self._add, self._with_parents),
        ):
            setattr(base, name, self._noting(getattr(base, name), note, concerned))

    def were_changed(self) -> bool:
        """Return True if a mock's record changed without a call of the mock since `were_changed` was last used."""
        with self._lock:
            for reference, _, _ in list(self._seen.values()):
                found = reference()
                if found is not None:
                    self._compare(found)
            is_changed, self._is_changed = self._is_changed, False
            self._kept.clear()
        return is_changed

    def _noting(
        self,
        function: Callable[..., Any],
        note: Callable[[Any], None],
        concerned: Callable[[Any], Iterable[Any]],
    ) -> Callable[..., Any]:
        """Return a wrapper of a Mock method that compares ``concerned`` mocks, runs the method, and calls ``note``."""

        def noting(mock: Any, /, *given: Any, **named: Any) -> Any:
            with self._lock:
                for one in concerned(mock):
                    self._compare(one, is_short=True)
                result = function(mock, *given, **named)
                note(mock)
            return result

        return noting

    def _begin(self, mock: Any) -> None:
        key = id(mock)
        if len(self._kept) < _MOST_KEPT:
            self._kept.append(mock)
        forget = lambda _: self._seen.pop(key, None)  # noqa: E731 -- must not hold the mock
        self._seen[key] = (weakref.ref(mock, forget), list(mock.call_args_list), list(mock.mock_calls))

    def _add(self, mock: Any) -> None:
        for one in self._with_parents(mock):
            _, calls, with_children = self._seen.get(id(one), (None, [], []))
            calls += one.call_args_list[len(calls) :]
            with_children += one.mock_calls[len(with_children) :]

    def _with_parents(self, mock: Any) -> Iterator[Any]:
        """Yield the mocks that record a call of ``mock``: the mock itself and its parents."""
        while mock is not None:
            yield mock
            mock = vars(mock).get("_mock_new_parent")

    def _compare(self, mock: Any, is_short: bool = False) -> None:
        """Compare a mock's records with the observed calls; if ``is_short``, only the number of calls and the last."""
        if id(mock) not in self._seen:
            return
        _, calls, with_children = self._seen[id(mock)]
        last = calls[-1] if calls else None
        is_same = type(mock.call_count) is int and type(mock.called) is bool and mock.call_args is last
        is_same = is_same and mock.call_count == len(calls) and mock.called == bool(calls)
        for seen, recorded in ((calls, mock.call_args_list), (with_children, mock.mock_calls)):
            start = -1 if is_short else 0
            is_equal = type(recorded) is self._list and len(seen) == len(recorded)
            is_same = is_same and is_equal and all(map(is_, seen[start:], recorded[start:]))
        if not is_same:
            self._is_changed = True
            del self._seen[id(mock)]  # every later comparison of this mock would differ too
