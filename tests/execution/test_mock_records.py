"""Records of mocks in the texts of a check: calls change them as usual, and a program that writes into them is noticed."""

from collections.abc import Callable

import pytest

from bigcodeflow.judge.guest.protocol import WATCHED_MOCKS
from tests.doubles.written_tests import suite

_PROGRAM = """import asyncio, threading
from unittest import mock
async def awaited(given): return await given(1)
def task_func(way, given):
    return {ways}[way](given)
"""
#: Uses of a mock that a correct program or a test makes, with the mock.
_CALLS = {
    "calls": ("[m.get(1), m.get.post(2), m(), len(m), m[0]]", "MagicMock()"),
    "chain": ("m.f().g().h(3)", "MagicMock()"),
    "reset": ("[m.get(1), m.reset_mock(), m.get(2)]", "MagicMock()"),
    "attached": ("[m.attach_mock(mock.Mock(), 'c'), m.c(1)]", "Mock()"),
    "specified": ("[m('a'), m('b')]", "create_autospec(lambda a: a)"),
    "wrapped": ("m.upper()", "Mock(wraps='a')"),
    "file": ("m('f').read()", "mock_open(read_data='a')"),
    "awaited": ("asyncio.run(awaited(m))", "AsyncMock(return_value=3)"),
    "threads": ("[one.join() for one in [threading.Thread(target=lambda: [m.f(n) for n in range(99)]) for _ in '1234'] if not one.start()]", "Mock()"),
    "own": ("mock.Mock().f(1)", "Mock()"),
}  # fmt: skip
_FORGERIES = {
    "call_added": ("m.get.mock_calls.append(mock.call(1))", "MagicMock()"),
    "call_of_a_parent_added": ("m.mock_calls.append(mock.call.get(1))", "MagicMock()"),
    "added_between_calls": ("[m(1), m.call_args_list.append(mock.call(2)), m(3)]", "Mock()"),
    "call_replaced": ("[m(1), m(2), m.mock_calls.__setitem__(0, mock.call(3))]", "Mock()"),
    "call_removed": ("[m(1), m.mock_calls.clear()]", "Mock()"),
    "added_after_reset": ("[m(1), m.reset_mock(), m.mock_calls.append(mock.call(2))]", "Mock()"),
    "count_written": ("setattr(m, 'call_count', 3)", "Mock()"),
    "count_equals_all": ("setattr(m, 'call_count', type('Any', (int,), {'__eq__': lambda *_: True})(0))", "Mock()"),
    "last_call_written": ("setattr(m, 'call_args', mock.call(1))", "Mock()"),
    "said_to_be_called": ("setattr(m, 'called', True)", "Mock()"),
    "list_equals_all": ("setattr(m, 'mock_calls', type('Any', (list,), {'__eq__': lambda *_: True})())", "Mock()"),
    "function_with_a_mock": ("m.mock_calls.append(mock.call(1))", "create_autospec(lambda a: a)"),
}
_ALL = _CALLS | _FORGERIES
_TEST = "from unittest.mock import *\n" + suite(
    "".join(f"def test_{name}(self):\n    task_func({name!r}, {made})\n" for name, (_, made) in _ALL.items())
)


def _outcomes(judge: Callable[..., dict], test: str) -> dict[str, str]:
    ways = ", ".join(f"{name!r}: lambda m: {way}" for name, (way, _) in _ALL.items())
    program = _PROGRAM.replace("{ways}", f"{{{ways}}}")
    found = judge(program, test, expected=tuple(f"test_{name}" for name in _ALL))
    return {one["name"].removeprefix("test_"): one["outcome"] for one in found["tests"]}


@pytest.mark.sandbox
def test_a_record_that_no_call_wrote_fails_the_method(judge: Callable[..., dict]) -> None:
    """Only texts of a check are watched; the task's own test is executed as unittest does."""
    watched = _outcomes(judge, f"{_TEST}\n{WATCHED_MOCKS}")
    assert watched == dict.fromkeys(_CALLS, "pass") | dict.fromkeys(_FORGERIES, "fail")
    assert set(_outcomes(judge, _TEST).values()) == {"pass"}


@pytest.mark.sandbox
def test_a_method_after_a_forged_record_is_not_affected(judge: Callable[..., dict]) -> None:
    test = "from unittest.mock import *\nSHARED = Mock()\n" + suite(
        "def test_a(self):\n    task_func('count_written', SHARED)\ndef test_b(self):\n    task_func('calls', SHARED)\n"
    )
    program = "def task_func(way, m):\n    m(1) if way == 'calls' else setattr(m, 'call_count', 3)\n"
    found = judge(program, f"{test}\n{WATCHED_MOCKS}", expected=("test_a", "test_b"))
    assert [one["outcome"] for one in found["tests"]] == ["fail", "pass"]
    assert "record of a mock" in found["tests"][0]["trace"]
