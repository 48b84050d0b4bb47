"""The program in a process of its own: the test calls it there, and shares no interpreter with it.

Arguments go by pickle, results and exceptions come back as plain data. Working folder, environment and random state go
along, printed text comes back, files are shared. Whatever a program does to the objects that it was given, to modules
or to unittest, it does in its process only. Functions of other modules are imported by name: a program that replaces
them there does not end the connection.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import os
import signal
import sys
import threading
from contextlib import redirect_stdout, suppress
from io import StringIO
from json import dumps, loads
from multiprocessing.connection import Connection, Pipe
from os import _exit as leave
from os import environ, getcwd, getpid
from pickle import dumps as pickled
from pickle import loads as unpickled

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from bigcodeflow.sandbox import values
else:
    import values

globals()["__builtins__"] = dict(vars(builtins))  # functions made below look names up here, whatever a program replaces

_OWN_DESCRIPTOR = 3
_SET_DUMPABLE = 4
_MOST_BYTES = 256 << 20


class UntransferableError(Exception):
    """A call tells nothing of the program: an argument or the result is no plain data, or its process has ended."""


class Partner:
    """The process of the program, as the process of the test sees it."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        """Fork it; it serves as soon as it cannot look into this process any more."""
        self._connection, other = Pipe()
        self._lock, self._calls = threading.Lock(), 0
        self._pid = os.fork()
        if self._pid == 0:
            _become_partner(other, serve)
        other.close()
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        self._connection.send_bytes(b"go")

    def answer(self) -> Any:
        """Wait for its next message.

        Raises:
            UntransferableError: it has ended.
        """
        try:
            return loads(self._connection.recv_bytes(_MOST_BYTES))
        except (OSError, EOFError) as error:
            raise UntransferableError(f"the process of the program has ended: {error}") from None

    def function(self, name: str, genuine: Any) -> Any:
        """What calls the program's function of that name, and looks like the genuine one."""

        @functools.wraps(genuine)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                answer = self._answer(name, args, kwargs)
            sys.stdout.write(answer["printed"])
            if "untransferable" in answer:
                raise UntransferableError(str(answer["untransferable"]))
            _restore(values.decoded(answer["state"]))
            if "raised" in answer:
                raise values.decoded_error(answer["raised"])
            return values.decoded(answer["value"])

        return called

    def end(self) -> None:
        """End it."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def _answer(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        self._calls += 1
        try:
            call = pickled((name, args, kwargs, dict(environ), _state()))
        except Exception as error:
            raise UntransferableError(f"an argument: {error}") from None
        with suppress(OSError):  # the answer says that it has ended
            self._connection.send_bytes(pickled((self._calls, call)))
        while True:
            number, answer = self.answer()
            if number == self._calls:  # not of a call that the test gave up
                return dict(answer)


def _become_partner(connection: Connection, serve: Callable[[Connection], None]) -> NoReturn:
    try:
        os.dup2(connection.fileno(), _OWN_DESCRIPTOR)
        os.closerange(_OWN_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))
        own = Connection(_OWN_DESCRIPTOR)
        own.recv_bytes()
        serve(own)
    finally:
        leave(0)


def serve_calls(connection: Connection, names: dict[str, Any]) -> None:
    """Answer calls of functions among the names until the process of the test ends."""
    own = getpid()
    while True:
        try:
            number, call = unpickled(connection.recv_bytes())
        except EOFError:
            return
        answer = _answer(names, call)
        if getpid() != own:
            return  # a process that the program forked, and that went on
        connection.send_bytes(dumps([number, answer]).encode())


def _answer(names: dict[str, Any], call: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = {"printed": ""}
    try:
        name, args, kwargs, environment, state = unpickled(call)
    except Exception as error:
        return answer | {"untransferable": f"an argument: {error}"}
    environ.clear()
    environ.update(environment)
    _restore(state)
    with redirect_stdout(StringIO()) as printed:
        try:
            value = names[name](*args, **kwargs)
        except BaseException as error:
            answer["raised"] = values.encoded_error(error)
    answer["printed"] = printed.getvalue()
    try:
        if "raised" not in answer:
            answer["value"] = values.encoded(value)
        answer["state"] = values.encoded(_state())
    except Exception as error:
        answer["untransferable"] = f"the result: {error}"
    return answer


def _state() -> tuple[Any, ...]:
    """The working folder and what the random generators would give next."""
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    return getcwd(), random and random.getstate(), numpy and numpy.get_state()


def _restore(state: tuple[Any, ...]) -> None:
    folder, random, numpy = state
    os.chdir(folder)
    for name, found in (("random", random), ("numpy.random", numpy)):
        if found and name in sys.modules:
            setter = "setstate" if name == "random" else "set_state"
            getattr(sys.modules[name], setter)(found)
